/* The program of the demonstration that crashes: it draws the water levels of harbours. It needs no C library, so that its
   files stay small and run anywhere. */
struct harbour { const char *name; const int *levels; int count; };
static const int south[] = {31, 52, 78, 60, 44, 29};
static const struct harbour harbours[] = {{"South Quay", south, 6}, {"North Quay", 0, 6}};

static __attribute__((noinline)) int level_at(const struct harbour *h, int hour) { return h->levels[hour % h->count]; }
static inline __attribute__((always_inline)) int height_of(const struct harbour *h, int hour) { return level_at(h, hour) / 8; }
static __attribute__((noinline)) int draw_curve(const struct harbour *h, char *line) {
	int drawn = 0;
	for (int hour = 0; hour < 24; hour++) {
		line[hour] = "_.-=^"[height_of(h, hour) % 5];
		drawn++;
	}
	return drawn;
}
static __attribute__((noinline)) int draw_harbours(volatile int *drawn) {
	char line[24];
	for (unsigned i = 0; i < 2; i++) *drawn += draw_curve(&harbours[i], line);
	return *drawn;
}
__attribute__((noinline)) int main(void) {
	volatile int drawn = 0;
	return draw_harbours(&drawn) + 1;
}
void _start(void) { for (;;) main(); }
