int half(int n);

int
half(int n)
{
	return n / 2;
}
