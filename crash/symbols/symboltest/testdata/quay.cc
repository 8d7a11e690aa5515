// quay crashes in one of 21 ways: quay BUG [DEPTH]. The functions are small and ordinary; what the compiler makes
// of them is its own affair. Only a few are kept apart, because in a larger program they would be in other files.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#define FAR __attribute__((noinline))

template <typename T> FAR T *hide(T *p) { // the compiler cannot know what comes out
	asm volatile("" : "+r"(p) : : "memory");
	return p;
}
static volatile int sink;

namespace quay {

struct Buoy {
	int number = 0;
	Buoy *next = nullptr;
	int depth() const { return number * 3; }
	int twice() const { return depth() + depth(); }
};

struct Signal {
	virtual ~Signal() = default;
	virtual int level(int n) const = 0;
	int (*handler)(int) = nullptr;
};
struct Lamp : Signal {
	int level(int n) const override { return n + 1; }
};

// Calls through null.

// 1: a callback that nobody has set
int ring_bell(Signal *s, int n) { return s->handler(n) + 1; }
FAR int watch_night(Signal *s) { return ring_bell(s, 3) * 2; }

// 2: a virtual function of no object
int measure_light(Signal *s) { return s->level(2) + 1; }
FAR int watch_dusk(Signal *s) { return measure_light(s) * 2; }

// 3: a callback in place of the last call
FAR int ring_horn(Signal *s, int n) { return s->handler(n + 1); }
FAR int watch_fog(Signal *s) { return ring_horn(s, 5) * 2; }

// 4: an object whose memory was cleared
FAR int measure_clear(Signal *s) { return s->level(4); }
FAR int watch_dawn(Signal *s) {
	void **words = reinterpret_cast<void **>(hide(s));
	static void *none[8];
	words[0] = none;
	return measure_clear(s) * 2;
}

// Exceptions.

using Chart = std::map<std::string, std::vector<int>>;

// 5: nobody catches it
int read_cell(const Chart &c, const char *name, int i) { return c.at(name).at(i); }
FAR int draw_chart(const Chart &c) { return read_cell(c, "fog", 3) * 2; }

// 6: it leaves a function that is noexcept
void check_rope(int n) {
	if (n > 3) throw std::runtime_error("the rope is too short");
}
FAR int tie_up(int n) noexcept {
	std::string where = "pier " + std::to_string(n);
	check_rope(n);
	return int(where.size());
}
FAR int moor(int n) { return tie_up(n + 4) * 2; }

// 7: it leaves a destructor
struct Anchor {
	int length;
	explicit Anchor(int n) : length(n) {}
	~Anchor() { haul(); }
	void haul() {
		if (length > 3) throw std::logic_error("the chain is stuck");
	}
};
int drop_anchor(int n) {
	Anchor a(n);
	sink = a.length;
	return sink;
}
FAR int cast_off(int n) { return drop_anchor(n + 4) * 2; }

// 8: it is thrown again
int load_crane(int n) {
	try {
		if (n > 3) throw std::invalid_argument("too heavy");
		return n;
	} catch (const std::exception &) {
		sink = n;
		throw;
	}
}
FAR int unload_ship(int n) { return load_crane(n + 4) * 2; }

// 9: a function object without a function, in a thread
int send_pilot(const std::function<int(int)> &f, int n) { return f(n) + 1; }
FAR void pilot_loop(const std::function<int(int)> &f) { sink = send_pilot(f, 2); }
FAR int pilot_station() {
	std::function<int(int)> none;
	std::thread t(pilot_loop, std::cref(none));
	t.join();
	return 0;
}

// Recursion.

struct Node {
	int weight = 1;
	Node *left = nullptr, *right = nullptr;
};
Node *tree(int depth) {
	Node *root = new Node, *at = root;
	for (int i = 1; i < depth; i++) at = at->left = new Node;
	return root;
}

// 10 and 11: one walk, two faults
struct Scale {
	int weigh(const Node *n) const { return *hide(limit) + n->weight; }
	int count(const Node *n) const { return *hide(limit) * n->weight; }
	int *limit = nullptr;
};
int walk(const Node *n, const Scale &s, bool weigh) {
	if (n->left) return walk(n->left, s, weigh) + n->weight;
	return weigh ? s.weigh(n) + 1 : s.count(n) + 2;
}
FAR int stow_cargo(int depth) { return walk(tree(depth), Scale(), true) + 1; }
FAR int check_cargo(int depth) { return walk(tree(depth), Scale(), false) + 2; }

// 12: three functions in a circle
struct Parser {
	const char *at;
	Buoy *marks;
	int sum() {
		int n = product();
		while (*at == '+') at++, n += product();
		return n;
	}
	int product() {
		int n = factor();
		while (*at == '*') at++, n *= factor();
		return n;
	}
	int factor() {
		if (*at == '(') {
			at++;
			int n = sum();
			at++;
			return n;
		}
		return hide(marks)->twice();
	}
};
FAR int parse_orders(int depth) {
	std::string text = std::string(depth, '(') + "x" + std::string(depth, ')');
	Parser p{text.c_str(), nullptr};
	return p.sum() + 1;
}

// 13: a function object that calls itself
FAR int visit_berths(int depth) {
	std::function<int(int)> visit = [&](int n) -> int {
		if (n == 0) return hide(static_cast<Buoy *>(nullptr))->twice();
		return visit(n - 1) + 1;
	};
	return visit(depth) + 1;
}

// Lambdas and inlining.

// 14: a comparison in a sort
int sort_buoys(std::vector<Buoy *> &all) {
	std::sort(all.begin(), all.end(), [](const Buoy *a, const Buoy *b) { return a->depth() < b->depth(); });
	return all.front()->number;
}
FAR int list_buoys(int n) {
	std::vector<Buoy *> all;
	for (int i = 0; i < n + 3; i++) all.push_back(i == 2 ? hide(static_cast<Buoy *>(nullptr)) : new Buoy);
	return sort_buoys(all) + 1;
}

// 15: a loop with a small function
int sum_buoys(const std::vector<Buoy *> &all) {
	int sum = 0;
	std::for_each(all.begin(), all.end(), [&](const Buoy *b) { sum += b->twice(); });
	return sum;
}
FAR int chart_buoys(int n) {
	std::vector<Buoy *> all(n + 1, hide(static_cast<Buoy *>(nullptr)));
	return sum_buoys(all) + 1;
}

// 16: a thread
FAR int tide_table() {
	int high = 0;
	std::thread t([&high] { high = hide(static_cast<Buoy *>(nullptr))->twice() + 1; });
	t.join();
	return high;
}

// 17: a visitor
using Cargo = std::variant<int, Buoy *, std::string>;
int price(const Cargo &c) {
	return std::visit([](const auto &v) -> int {
		using T = std::decay_t<decltype(v)>;
		if constexpr (std::is_same_v<T, Buoy *>) return v->number + 1;
		else if constexpr (std::is_same_v<T, int>) return v;
		else return int(v.size());
	}, c);
}
FAR int invoice(int n) {
	Cargo c = n > 100 ? Cargo(n) : Cargo(hide(static_cast<Buoy *>(nullptr)));
	return price(c) * 2;
}

// Tail calls.

// 18: through three functions
int sink_ship(const Buoy *b, int n) { return b->number + n; }
FAR int flood_ship(const Buoy *b, int n) { return sink_ship(b, n * 3); }
FAR int hit_rock(const Buoy *b, int n) { return n > 50 ? n : flood_ship(b, n + 1); }
FAR int sail(int n) { return hit_rock(hide(static_cast<Buoy *>(nullptr)), n) * 2; }

// 19: to one of several functions
int row_north(const Buoy *b, int n) { return b->number + n; }
int row_south(const Buoy *b, int n) { return b->number - n; }
FAR int choose_course(const Buoy *b, int n) { return n & 1 ? row_north(b, n + 1) : row_south(b, n); }
FAR int row_out(int n) { return choose_course(hide(static_cast<Buoy *>(nullptr)), n * 2 + 1) * 2; }

// Equal functions.

struct Crate { Buoy *label = nullptr; FAR int marked() const { return label->number; } };
struct Barrel { Buoy *label = nullptr; FAR int marked() const { return label->number; } };

// 20 and 21: two classes with the same code
int load_crate(const Crate &c) { return c.marked() + 1; }
int roll_barrel(const Barrel &b) { return b.marked() + 2; }
FAR int fill_hold(int n) { Crate c; return load_crate(*hide(&c)) * n; }
FAR int fill_cellar(int n) { Barrel b; return roll_barrel(*hide(&b)) * n; }

FAR int run(int bug, int depth) {
	Lamp lamp;
	switch (bug) {
	case 1: return watch_night(hide(&lamp));
	case 2: return watch_dusk(hide(static_cast<Signal *>(nullptr)));
	case 3: return watch_fog(hide(&lamp));
	case 4: return watch_dawn(hide(new Lamp));
	case 5: return draw_chart(Chart{{"rain", {1, 2}}});
	case 6: return moor(depth);
	case 7: return cast_off(depth);
	case 8: return unload_ship(depth);
	case 9: return pilot_station();
	case 10: return stow_cargo(depth);
	case 11: return check_cargo(depth);
	case 12: return parse_orders(depth);
	case 13: return visit_berths(depth);
	case 14: return list_buoys(depth);
	case 15: return chart_buoys(depth);
	case 16: return tide_table();
	case 17: return invoice(depth);
	case 18: return sail(depth);
	case 19: return row_out(depth);
	case 20: return fill_hold(depth);
	case 21: return fill_cellar(depth);
	}
	return 0;
}

}

int main(int argc, char **argv) {
	int bug = argc > 1 ? std::atoi(argv[1]) : 0, depth = argc > 2 ? std::atoi(argv[2]) : 3;
	return quay::run(bug, depth) == 4711;
}
