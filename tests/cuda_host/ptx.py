#!/usr/bin/env python3
"""PTX, as nvcc writes it for kernels/cuda, as C++ for the stand-in: each .entry a function, run by its threads.

    ptx.py IN.ptx OUT.cpp [N]     N: leaves the N-th bar.sync of the file out (from 1)

A register is a variable of its name, a label a label, a shared address of 32 bits an address of the host (runtime.cpp), an instruction a line by the tables
below. One that no table has, or an operand that nothing is known of, ends the translation and names it.
"""
import re
import struct
import sys

C_TYPE = {'f32': 'float', 'f64': 'double', 'pred': 'bool'}
for bits in 8, 16, 32, 64:
    C_TYPE['u%d' % bits] = C_TYPE['b%d' % bits] = 'uint%d_t' % bits
    C_TYPE['s%d' % bits] = 'int%d_t' % bits

SPECIAL = {'%' + ptx + '.' + x: c + '.' + x for ptx, c in (('tid', 'threadIdx'), ('ctaid', 'blockIdx'), ('ntid', 'blockDim'), ('nctaid', 'gridDim')) for x in 'xyz'}

# Opcodes, the type of the result, the expression. An opcode's {a|b} is any of these, its T one of the types behind the colon, which {1}, {2}.. are then
# read as; {1:u32} as another, with U and S the unsigned and the signed type of T's size.
RULES = '''
mov.T: b16 b32 b64 u16 u32 u64 s32 s64 f32 f64 pred   | T    | {1}
cvta{.to.global|.local|.shared|.to.shared}.u64        | u64  | {1:u64}
{add|add.rn}.T: f32 f64 u16 u32 u64                   | T    | {1} + {2}
add.T: s16 s32 s64                                    | U    | {1:U} + {2:U}
{sub|sub.rn}.T: f32 f64 u16 u32 u64                   | T    | {1} - {2}
sub.T: s16 s32 s64                                    | U    | {1:U} - {2:U}
{mul|mul.rn}.T: f32 f64                               | T    | {1} * {2}
mul.lo.T: u16 u32 u64 s16 s32 s64                     | U    | {1:U} * {2:U}
mad.lo.T: u32 u64 s32 s64                             | U    | {1:U} * {2:U} + {3:U}
mul.wide.u16                                          | u32  | (uint32_t){1} * {2}
mul.wide.s16                                          | s32  | (int32_t){1} * {2}
mul.wide.u32                                          | u64  | (uint64_t){1} * {2}
mul.wide.s32                                          | s64  | (int64_t){1} * {2}
mul.hi.u32                                            | u32  | (uint64_t){1} * {2} >> 32
mul.hi.s32                                            | s32  | (int64_t){1} * {2} >> 32
mul.hi.u64                                            | u64  | (unsigned __int128){1} * {2} >> 64
{div.rn|div.approx|div.full}.f32                      | f32  | {1} / {2}
div.rn.f64                                            | f64  | {1} / {2}
div.T: u16 u32 u64 s32 s64                            | T    | {1} / {2}
rem.T: u16 u32 u64 s32 s64                            | T    | {1} % {2}
fma.rn.f32                                            | f32  | fmaf({1}, {2}, {3})
fma.rn.f64                                            | f64  | fma({1}, {2}, {3})
fma.rm.f32                                            | f32  | ptx_fma_down({1}, {2}, {3})
neg.T: f32 f64                                        | T    | -{1}
neg.T: s32 s64                                        | U    | 0 - {1:U}
abs.f32                                               | f32  | fabsf({1})
abs.f64                                               | f64  | fabs({1})
abs.T: s32 s64                                        | U    | {1} < 0 ? 0 - {1:U} : {1:U}
copysign.f32                                          | f32  | copysignf({2}, {1})
min.f32                                               | f32  | fminf({1}, {2})
max.f32                                               | f32  | fmaxf({1}, {2})
min.f64                                               | f64  | fmin({1}, {2})
max.f64                                               | f64  | fmax({1}, {2})
min.T: u32 u64 s32 s64                                | T    | {1} < {2} ? {1} : {2}
max.T: u32 u64 s32 s64                                | T    | {1} > {2} ? {1} : {2}
rcp.rn.T: f32 f64                                     | T    | 1 / {1}
rcp.approx.ftz.f32                                    | f32  | ptx_flush(1 / {1})
rcp.approx.ftz.f64                                    | f64  | ptx_reciprocal({1})
sqrt.rn.f32                                           | f32  | sqrtf({1})
sqrt.rn.f64                                           | f64  | sqrt({1})
ex2.approx.ftz.f32                                    | f32  | host_exp2({1})
and.T: b16 b32 b64 pred                               | T    | {1} & {2}
or.T: b16 b32 b64 pred                                | T    | {1} | {2}
xor.T: b16 b32 b64 pred                               | T    | {1} ^ {2}
not.T: b16 b32 b64                                    | T    | ~{1}
not.pred                                              | pred | !{1}
popc.b32                                              | u32  | __builtin_popcount({1:u32})
shl.b16                                               | b16  | {2:u32} > 15 ? 0 : {1} << {2:u32}
{shl|shr}.T: b32 u32                                  | T    | {2:u32} > 31 ? 0 : {1} SHIFT {2:u32}
{shl|shr}.T: b64 u64                                  | T    | {2:u32} > 63 ? 0 : {1} SHIFT {2:u32}
shr.s32                                               | s32  | {1} >> ({2:u32} > 31 ? 31 : {2:u32})
shr.s64                                               | s64  | {1} >> ({2:u32} > 63 ? 63 : {2:u32})
selp.T: b16 b32 b64 u16 u32 u64 s32 s64 f32 f64       | T    | {3:pred} ? {1} : {2}
setp.{eq|lt|le|gt|ge}.T: f32 f64                      | pred | {1} COMPARE {2}
setp.{eq|ne|lt|le|gt|ge}.T: s16 s32 s64 u16 u32 u64   | pred | {1} COMPARE {2}
setp.{eq|ne}.T: b16 b32 b64                           | pred | {1} COMPARE {2}
setp.ne.T: f32 f64                                    | pred | {1} < {2} || {1} > {2}
setp.neu.T: f32 f64                                   | pred | {1} != {2}
setp.equ.T: f32 f64                                   | pred | !({1} < {2} || {1} > {2})
setp.ltu.T: f32 f64                                   | pred | !({1} >= {2})
setp.leu.T: f32 f64                                   | pred | !({1} > {2})
setp.gtu.T: f32 f64                                   | pred | !({1} <= {2})
setp.geu.T: f32 f64                                   | pred | !({1} < {2})
setp.nan.T: f32 f64                                   | pred | {1} != {1} || {2} != {2}
setp.num.T: f32 f64                                   | pred | {1} == {1} && {2} == {2}
cvt{.u16|.u32|.u64|.s16|.s32|.s64}.T: u8 u16 u32 u64 s8 s16 s32 s64 | to | {1}
cvt.rn{.f32|.f64}.T: u16 u32 u64 s16 s32 s64          | to   | (TO){1}
cvt.f64.f32                                           | f64  | {1}
cvt.rn.f32.f64                                        | f32  | (float){1}
cvt.sat.f32.f32                                       | f32  | {1} > 0 ? fminf({1}, 1) : 0
cvt.rzi.f32.f32                                       | f32  | truncf({1})
cvt.rni.f32.f32                                       | f32  | rintf({1})
cvt.rmi.f32.f32                                       | f32  | floorf({1})
cvt.rpi.f32.f32                                       | f32  | ceilf({1})
cvt.rzi{.u32|.u64|.s32|.s64}.T: f32 f64               | to   | ptx_integer<TO>(trunc({1}))
cvt.rni{.u32|.u64|.s32|.s64}.T: f32 f64               | to   | ptx_integer<TO>(rint({1}))
cvt.rmi{.u32|.u64|.s32|.s64}.T: f32 f64               | to   | ptx_integer<TO>(floor({1}))
cvt.rn.bf16x2.f32                                     | b32  | host_bf16_bits({2:f32}) | (uint32_t)host_bf16_bits({1:f32}) << 16
cvt.rna.tf32.f32                                      | b32  | host_tf32_bits({1:f32})
vote.sync.all.pred                                    | pred | __all_sync({2:u32}, {1:pred})
vote.sync.any.pred                                    | pred | __any_sync({2:u32}, {1:pred})
vote.sync.ballot.b32                                  | b32  | __ballot_sync({2:u32}, {1:pred})
'''
OPERATOR = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'shl': '<<', 'shr': '>>'}


def read_rules():
    """opcode -> (type of the operands, type of the result, expression)"""
    rules = {}
    for line in RULES.strip().split('\n'):
        opcodes, result, expression = (x.strip() for x in line.split(' | ', 2))
        opcodes, _, types = opcodes.partition(':')
        choice = re.match(r'(.*)\{(.*)\}(.*)$', opcodes)
        for opcode in [choice.group(1) + x + choice.group(3) for x in choice.group(2).split('|')] if choice else [opcodes]:
            for t in types.split() or [opcode.split('.')[-1]]:
                full = re.sub(r'\bT$', t, opcode)
                parts = full.split('.')
                of = next((OPERATOR[x] for x in parts[:2] if x in OPERATOR), '')
                to = {'T': t, 'U': 'u' + t[1:], 'to': parts[-2] if len(parts) > 1 else ''}.get(result, result)
                e = re.sub(r':U\}', ':u%s}' % t[1:], expression).replace('COMPARE', of).replace('SHIFT', of).replace('TO', C_TYPE.get(to, ''))
                rules[full] = t, to, e
    return rules


class Unknown(Exception):
    pass


class Operand:
    """An operand in a rule's expression, read as the type that the format names."""

    def __init__(self, kernel, text, otherwise):
        self.kernel, self.text, self.otherwise = kernel, text, otherwise

    def __format__(self, t):
        return self.kernel.value(self.text, t or self.otherwise)


class Kernel:
    def __init__(self, name, parameters, threads, dynamic):
        self.name, self.threads, self.dynamic = name, threads, dynamic
        self.parameters = {p: i for i, p in enumerate(parameters)}
        self.registers = {}  # name or its letters -> type
        self.memory = {}  # shared variables: where
        self.fixed = 0
        self.lines = []

    def type_of(self, register):
        if register in SPECIAL:
            return 'b32'
        t = self.registers.get(register) or self.registers.get(register.rstrip('0123456789'))
        if not t:
            raise Unknown(register)
        return t

    def value(self, text, t):
        if text.startswith('!'):
            return '!' + self.value(text[1:], t)
        if text.startswith('%'):
            own, name = self.type_of(text), SPECIAL.get(text, text[1:])
            if C_TYPE[own] == C_TYPE[t]:
                return name
            return ('AS(%s, %s)' if 'f' in own[0] + t[0] else '(%s)%s') % (C_TYPE[t], name)
        number = re.match(r'0[fFdD]([0-9A-F]+)$', text)
        if number and t[0] == 'f':
            digits = int(t[1:]) // 4
            if len(number.group(1)) != digits:
                raise Unknown(text)
            return float_literal(int(number.group(1), 16), int(t[1:]))
        if number:
            return '(%s)0x%sull' % (C_TYPE[t], number.group(1))
        if t[0] != 'f' and re.match(r'-?(0x[0-9a-fA-F]+|[0-9]+)U?$', text):
            return '(%s)%d%s' % (C_TYPE[t], int(text.rstrip('U'), 0) & (1 << 64) - 1, 'ull')
        if text in self.memory:
            return '(%s)(%s)' % (C_TYPE[t], self.memory[text])
        if text == self.dynamic:
            return '(%s)dynamic' % C_TYPE[t]
        if text in self.parameters:
            return '(%s)(uint64_t)at[%d]' % (C_TYPE[t], self.parameters[text])
        raise Unknown(text)

    def put(self, register, t, expression):
        """register = expression, which has PTX's type t; a narrower integer fills a wider register by its sign."""
        own = self.type_of(register)
        if (own[0] == 'f') != (t[0] == 'f'):
            return '{ %s x = %s; %s = AS(%s, x); }' % (C_TYPE[t], expression, register[1:], C_TYPE[own])
        narrowed = '' if C_TYPE[own] == C_TYPE[t] or t == 'pred' else '(%s)' % C_TYPE[t]
        return '%s = %s;' % (register[1:], narrowed + '(%s)' % expression if narrowed else expression)

    def address(self, text, space):
        base, offset = re.match(r'\[([^\s+]+)(?:\+(-?[0-9]+))?\]$', text).groups()
        a = self.value(base, 'u32' if space == 'shared' and base.startswith('%') and self.type_of(base) == 'b32' else 'u64')
        return a + (' + (%s)' % offset if offset and offset != '0' else '')

    def access(self, opcode, operands):
        """ld and st: the address, its alignment, the numbers."""
        parts = opcode.split('.')
        count = {'v2': 2, 'v4': 4}.get(parts[-2], 1)
        space, t = parts[1], parts[-1]
        if parts[1:] != [x for x in ([space] if space in ('global', 'shared', 'local', 'param') else []) + (['v%d' % count] if count > 1 else []) + [t]] or t not in C_TYPE:
            raise Unknown(opcode)
        load = parts[0] == 'ld'
        size = int(t[1:]) // 8
        items = elements(operands[0 if load else 1], count)
        out = '{ uint64_t a = %s; ' % self.address(operands[1 if load else 0], space)
        if size * count > 1:
            out += 'if (a & %d) ptx_misaligned(a, %d); ' % (size * count - 1, size * count)
        for i, item in enumerate(items):
            place = '((%s *)a)[%d]' % (C_TYPE[t], i)
            out += ('' if item == '_' else self.put(item, t, place)) if load else '%s = %s;' % (place, self.value(item, t))
        return out + ' }'

    def parts(self, opcode, operands):
        """mov between a register and a pair of halves"""
        bits = int(opcode[5:])
        half = 'b%d' % (bits // 2)
        if operands[0].startswith('{'):
            low, high = elements(operands[0], 2)
            return '{ uint%d_t whole = %s; %s %s }' % (bits, self.value(operands[1], 'b%d' % bits), self.put(low, half, 'whole'),
                                                     self.put(high, half, 'whole >> %d' % (bits // 2)))
        low, high = elements(operands[1], 2)
        return self.put(operands[0], 'b%d' % bits, '%s | (uint%d_t)%s << %d' % (self.value(low, half), bits, self.value(high, half), bits // 2))

    def special(self, opcode, o):
        """What is not an expression of its operands; None: not among these."""
        if opcode in ('bra', 'bra.uni'):
            return 'goto %s;' % o[0][1:]
        if opcode in ('ret', 'exit'):
            return 'return;'
        if opcode.split('.')[0] in ('ld', 'st'):
            return self.access(opcode, o)
        if opcode in ('mov.b32', 'mov.b64') and '{' in o[0] + o[1]:
            return self.parts(opcode, o)
        if opcode == 'bar.sync' and o == ['0']:
            return '__syncthreads();'
        if opcode == 'bar.warp.sync':
            return '__syncwarp(%s);' % self.value(o[0], 'u32')
        if re.match(r'shfl\.sync\.(bfly|idx|down|up)\.b32$', opcode):
            register, _, inside = o[0].partition('|')
            if inside and len(re.findall(re.escape(inside) + r'\b', self.body)) > 1:
                raise Unknown('%s, which is read' % inside)
            kind = {'bfly': 'x', 'idx': 'i', 'down': 'd', 'up': 'u'}[opcode.split('.')[2]]
            return self.put(register, 'b32', "host_shuffle(%s, %s, '%s', (int)%s, 32 - (%s >> 8 & 31))" % (
                self.value(o[4], 'u32'), self.value(o[1], 'b32'), kind, self.value(o[2], 'u32'), self.value(o[3], 'u32')))
        if opcode == 'atom.global.cas.b32':
            return self.put(o[0], 'b32', '(uint32_t)atomicCAS((int *)(%s), %s, %s)' % (self.address(o[1], 'global'), self.value(o[2], 's32'), self.value(o[3], 's32')))
        if opcode == 'bfi.b32':  # bits of the first into the second
            if not (o[3].isdigit() and o[4].isdigit() and int(o[3]) + int(o[4]) <= 32):
                raise Unknown('bfi with places that are not constants')
            mask = (1 << int(o[4])) - 1 << int(o[3])
            return self.put(o[0], 'b32', '(%s << %s & %#xu) | (%s & %#xu)' % (self.value(o[1], 'b32'), o[3], mask, self.value(o[2], 'b32'), ~mask & 0xffffffff))
        product = {'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32': 'host_mma_bf16', 'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32': 'host_mma_tf32'}.get(opcode)
        if product:
            d, a, b, c = (elements(x, n) for x, n in zip(o, (4, 4, 2, 4)))
            return '{ float d[] = {%s}; uint32_t a[] = {%s}, b[] = {%s}; %s(d, a, b); %s }' % (
                ', '.join(self.value(x, 'f32') for x in c), ', '.join(self.value(x, 'b32') for x in a), ', '.join(self.value(x, 'b32') for x in b), product,
                ' '.join(self.put(x, 'f32', 'd[%d]' % i) for i, x in enumerate(d)))
        if opcode in ('ldmatrix.sync.aligned.m8n8.x4.shared.b16', 'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16'):
            return '{ uint32_t m[4]; host_ldmatrix_x4(m, (const void *)(uint64_t)(%s), %d); %s }' % (
                self.address(o[1], 'shared'), 'trans' in opcode, ' '.join(self.put(x, 'b32', 'm[%d]' % i) for i, x in enumerate(elements(o[0], 4))))
        if opcode == 'cp.async.cg.shared.global' and len(o) == 4 and o[2] == '16':
            return 'host_cp_async_16((void *)(uint64_t)(%s), (const void *)(%s), (int)%s);' % (self.address(o[0], 'shared'), self.address(o[1], 'global'), self.value(o[3], 'u32'))
        if opcode == 'cp.async.commit_group':
            return 'host_cp_async_commit();'
        if opcode == 'cp.async.wait_group':
            return 'host_cp_async_wait(%d);' % int(o[0])
        return None

    def instruction(self, opcode, operands):
        line = self.special(opcode, operands)
        if line is None:
            if opcode not in RULES_OF:
                raise Unknown(opcode)
            t, result, expression = RULES_OF[opcode]
            line = self.put(operands[0], result, expression.format(None, *(Operand(self, x, t) for x in operands[1:])))
        return line

    def declare(self, text):
        """.reg, .shared and .local"""
        register = re.match(r'\.reg \.(\w+) (.*)$', text)
        if register:
            t = register.group(1)
            for name in register.group(2).split(', '):
                many = re.match(r'(%[a-z]+)<[0-9]+>$', name)
                self.registers[many.group(1) if many else name] = t
                names = sorted(set(re.findall(re.escape(many.group(1)) + r'[0-9]+\b', self.body))) if many else [name]
                if names:
                    self.lines.append('%s %s;' % (C_TYPE[t], ', '.join(x[1:] for x in names)))
            return
        space, align, name, size = re.match(r'\.(shared|local) \.align ([0-9]+) \.b8 ([\w$]+)\[([0-9]+)\]$', text).groups()
        if space == 'local':
            self.lines.append('alignas(%s) char %s[%s];' % (align, name, size))
            self.memory[name] = '(uint64_t)' + name
        else:
            self.fixed = -(-self.fixed // int(align)) * int(align)
            self.memory[name] = 'fixed + %d' % self.fixed
            self.fixed += int(size)

    def translate(self, body):
        self.body = body
        # a label, a brace of a scope, or a statement, whose own braces stand behind its first word
        for label, brace, statement in re.findall(r'\s*(?:(\$\w+):|([{}])|([^\s{};][^;]*);)', body):
            if label:
                self.lines.append('%s:;' % label[1:])
            elif brace:
                self.lines.append(brace)
            else:
                statement = ' '.join(statement.split())
                try:
                    if re.match(r'\.(reg|shared|local) ', statement):
                        self.declare(statement)
                    elif not statement.startswith('.pragma '):
                        guard, opcode, operands = re.match(r'(?:@(!?%\w+) )?([a-z][\w.]*) ?(.*)$', statement).groups()
                        operands = [x.replace(' ', '') for x in re.findall(r'\{[^}]*\}|[^,\s][^,]*', operands)]
                        line = self.instruction(opcode, operands)
                        self.lines.append('if (%s) %s' % (self.value(guard, 'pred'), line) if guard else line)
                except (Unknown, AttributeError, ValueError, KeyError, IndexError) as e:
                    raise SystemExit('%s: %s: not known here: "%s" (%s)' % (sys.argv[1], self.name, statement, e))


def elements(text, count):
    found = text[1:-1].split(',') if text.startswith('{') else [text]
    if len(found) != count:
        raise Unknown(text)
    return found


def float_literal(bits, width):
    value = struct.unpack('<f' if width == 32 else '<d', bits.to_bytes(width // 8, 'little'))[0]
    if value != value:
        return '%s__builtin_nan%s("%#x")' % ('-' if bits >> width - 1 else '', 'f' if width == 32 else '', bits & (1 << (22 if width == 32 else 51)) - 1)
    if value in (float('inf'), -float('inf')):
        return '(%s__builtin_inf%s())' % ('-' if value < 0 else '', 'f' if width == 32 else '')
    return '(%s%s)' % (value.hex(), 'f' if width == 32 else '')


def main():
    with open(sys.argv[1]) as f:
        text = re.sub(r'//[^\n]*', '', f.read())
    if len(sys.argv) > 3:
        barriers = list(re.finditer(r'bar\.sync\s+0;', text))
        barrier = barriers[int(sys.argv[3]) - 1]
        text = text[:barrier.start()] + text[barrier.end():]
    dynamic = re.search(r'\.extern \.shared \.align 1024 \.b8 (\w+)\[\];', text)
    entries = list(re.finditer(r'\.entry (\w+)\(([^)]*)\)([^{]*)\{', text))
    if len(entries) != text.count('.entry') or re.search(r'^(\.visible )?\.(func|global|const)\b', text, re.M):
        raise SystemExit('%s: it has what is no kernel (a function, a variable in global or constant memory)' % sys.argv[1])
    kernels = []
    for e in entries:
        threads = re.search(r'\.maxntid ([0-9]+), ([0-9]+), ([0-9]+)', e.group(3))
        k = Kernel(e.group(1), re.findall(r'(\w+)(?:\[[0-9]+\])?(?:,|$)', e.group(2).strip(), re.M),
                   int(threads.group(1)) * int(threads.group(2)) * int(threads.group(3)) if threads else 0, dynamic.group(1) if dynamic else None)
        k.translate(text[e.end():text.index('\n}\n', e.end())])
        kernels.append(k)
    with open(sys.argv[2], 'w') as f:
        f.write('#include "tests/cuda_host/ptx.h"\n')
        for k in kernels:
            f.write('extern "C" void %s(void);\nstatic void run_%s(const char *const *at)\n{\n' % (k.name, k.name))
            f.write('uint64_t dynamic = (uint64_t)host_shared_memory(), fixed = dynamic - %d;\n(void)at, (void)fixed;\n' % (-(-k.fixed // 1024) * 1024))
            f.write('\n'.join(k.lines) + '\n}\n')
        if kernels:
            f.write('static const struct host_translated all[] = {\n')
            f.write(''.join('{(const void *)%s, run_%s, %d, %d},\n' % (k.name, k.name, k.fixed, k.threads) for k in kernels) + '{}};\n')
            f.write('__attribute__((section("host_translated"), used)) static const struct host_translated *const list = all;\n')


RULES_OF = read_rules()
main()
