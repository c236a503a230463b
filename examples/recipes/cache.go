package recipes

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Rates are what a slow service knows of a currency.
type Rates map[string]float64

// CachedRates returns the rates of a currency. Of all callers, in all processes, one asks the slow service for them, and
// the others get its answer for a minute.
func CachedRates(
	ctx context.Context, client *primitives.Client, currency string, ask func(ctx context.Context) (Rates, error),
) (Rates, error) {
	memo := primitives.NewMemo[Rates](client, "rates", &primitives.MemoOptions{Keep: time.Minute})
	rates, _, err := memo.Do(ctx, currency, func(ctx context.Context, _ primitives.MemoRun) (Rates, error) {
		return ask(ctx)
	})
	return rates, err
}
