/* SPDX-License-Identifier: BSD-3-Clause */
int dlopened_work(int n);

int dlopened_work(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum = sum + i;
	return sum;
}
