/* Stands for a cuBLASLt that lies where pip puts it. */
__attribute__((visibility("default"))) int cuda_host_needed(void);

int cuda_host_needed(void)
{
    return 1;
}
