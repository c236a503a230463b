package adders

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/backend"
)

// Count is what adders have counted: a sum of whole numbers, or of float64s. The field that is not used
// is 0.
type Count struct {
	Long   int64
	Double float64
}

// Plus returns the sum of c and other, or [backend.ErrOverflow].
func (c Count) Plus(other Count) (Count, error) {
	sum := Count{c.Long + other.Long, c.Double + other.Double}
	if (sum.Long > c.Long) != (other.Long > 0) || math.IsInf(sum.Double, 0) {
		return Count{}, backend.ErrOverflow
	}
	return sum, nil
}

// Parse reads a sum, of float64s if double is true: one number or, if that would have been out of range,
// several numbers to add.
func Parse(text string, double bool) (sum Count, err error) {
	texts := strings.Fields(text)
	if double {
		sum.Double, err = sumOfDoubles(texts)
	} else {
		sum.Long, err = sumOfLongs(texts)
	}
	switch {
	case errors.Is(err, strconv.ErrRange), slices.Contains(texts, "overflow"):
		return Count{}, backend.ErrOverflow
	case err != nil:
		return Count{}, fmt.Errorf("%w: %w", backend.ErrNotANumber, err)
	}
	return sum, nil
}

// sumOfLongs adds whole numbers. Their order does not matter. The error wraps [strconv.ErrRange] if
// the sum is out of range.
func sumOfLongs(texts []string) (int64, error) {
	var sum big.Int
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, err //nolint:wrapcheck // Its caller wraps it.
		}
		sum.Add(&sum, big.NewInt(n))
	}
	if !sum.IsInt64() {
		return 0, strconv.ErrRange
	}
	return sum.Int64(), nil
}

// exact is a precision at which a sum of doubles loses no digit.
const exact = 2200

// sumOfDoubles is sumOfLongs for doubles. An infinite number, or NaN, is out of range.
func sumOfDoubles(texts []string) (float64, error) {
	sum := new(big.Float).SetPrec(exact)
	for _, text := range texts {
		x, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return 0, err //nolint:wrapcheck // Its caller wraps it.
		case x-x != 0:
			return 0, strconv.ErrRange
		}
		sum.Add(sum, big.NewFloat(x))
	}
	x, _ := sum.Float64()
	if math.IsInf(x, 0) {
		return 0, strconv.ErrRange
	}
	return x, nil
}
