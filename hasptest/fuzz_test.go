package hasptest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
)

// FuzzDrawn draws within bounds, whatever the input is.
func FuzzDrawn(f *testing.F) {
	hasptest.FuzzScript(f, func(_ context.Context, _ backend.ScriptRunner, in *hasptest.Drawn) error {
		for _, bounds := range [][2]int64{{1, 1}, {-3, 5}, {7, math.MaxInt64}, {math.MinInt64, math.MaxInt64}, {math.MinInt64, -9}} {
			if n := in.Int(bounds[0], bounds[1]); n < bounds[0] || n > bounds[1] {
				return fmt.Errorf("%d is not in %v", n, bounds)
			}
		}
		if all := hasptest.Several(3, func() *string { return hasptest.Maybe(in, in.Text()) }); len(all) != 3 {
			return fmt.Errorf("%d of 3", len(all))
		}
		return nil
	})
}
