package model

import (
	"slices"
	"strconv"
	"strings"
)

// Bag is some numbers, of which several may be the same, in a form that can be compared: in order, with
// blanks in between. The zero value is empty.
type Bag string

// With returns b with one n more.
func (b Bag) With(n int) Bag {
	numbers := append(b.numbers(), n)
	slices.Sort(numbers)
	return bagOf(numbers)
}

// Without returns b with one n less.
func (b Bag) Without(n int) Bag {
	numbers := b.numbers()
	if i := slices.Index(numbers, n); i >= 0 {
		numbers = slices.Delete(numbers, i, i+1)
	}
	return bagOf(numbers)
}

// Distinct returns the numbers in b, each once.
func (b Bag) Distinct() []int { return slices.Compact(b.numbers()) }

func (b Bag) numbers() (all []int) {
	for _, text := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err) // It was not made by With.
		}
		all = append(all, n)
	}
	return all
}

func bagOf(numbers []int) Bag {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return Bag(strings.Join(texts, " "))
}
