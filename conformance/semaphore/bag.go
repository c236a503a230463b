package semaphore

import (
	"slices"
	"strconv"
	"strings"
)

// bag is some numbers, of which several may be the same, in a form that can be compared: in order, with
// blanks in between. The zero value is empty.
type bag string

// with returns b with one n more.
func (b bag) with(n int64) bag {
	numbers := append(b.numbers(), n)
	slices.Sort(numbers)
	return bagOf(numbers)
}

// without returns b with one n less.
func (b bag) without(n int64) bag {
	numbers := b.numbers()
	if i := slices.Index(numbers, n); i >= 0 {
		numbers = slices.Delete(numbers, i, i+1)
	}
	return bagOf(numbers)
}

// distinct returns the numbers in b, each once.
func (b bag) distinct() []int64 { return slices.Compact(b.numbers()) }

func (b bag) numbers() (all []int64) {
	for _, text := range strings.Fields(string(b)) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err) // It was not made by with.
		}
		all = append(all, n)
	}
	return all
}

func bagOf(numbers []int64) bag {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return bag(strings.Join(texts, " "))
}
