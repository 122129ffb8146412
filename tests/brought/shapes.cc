/* What C++ adds to a program, but for threads: streams, exceptions, containers, and
 * names that the compiler has changed. */
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "loop.h"

namespace geometry
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <class T> struct box : shape {
	T a, b;

	box(T a, T b) : a(a), b(b)
	{
		if (a < 0)
			throw std::invalid_argument("a side below 0");
	}
	double
	area() const override
	{
		return a * b;
	}
	__attribute__((noinline)) void
	grow(long rounds)
	{
		loop(rounds);
		a++;
	}
};
} // namespace geometry

int
main(int, char **argv)
{
	std::vector<std::unique_ptr<geometry::shape>> shapes;
	std::map<std::string, int> words;
	std::istringstream text("the cat and the dog and the bird");
	double sum = 0;

	for (int side = -1; side < 4; side++)
		try {
			shapes.push_back(
			    std::make_unique<geometry::box<int>>(side, 2));
		} catch (const std::exception &error) {
			std::cerr << error.what() << std::endl;
		}
	for (auto &shape : shapes)
		sum += shape->area();
	for (std::string word; text >> word;)
		words[word]++;
	for (auto &[word, count] : words)
		std::cout << word << ' ' << count << '\n';
	geometry::box<int> last(1, 2);
	last.grow(std::stol(argv[1]));
	std::cout << "area " << sum + last.area() << std::endl;
	throw std::runtime_error("nobody catches this");
}
