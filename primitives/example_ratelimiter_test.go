package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Calls of another service, which takes ten in a second from all processes together. The first Acquire makes
// the limiter.
func ExampleRateLimiter() {
	ctx := context.Background()
	calls := client.NewRateLimiter("geocoder", &primitives.RateLimiterOptions{
		Rate: primitives.Rate{Permits: 10, Interval: time.Second},
	})
	if err := calls.Acquire(ctx, 1); err != nil { // waits
		log.Fatal(err)
	}
	if err := work(ctx); err != nil {
		log.Fatal(err)
	}
}

// A request that is turned away, and told when to come again. A user who is not heard of for an hour is
// forgotten.
func ExampleRateLimiter_TryAcquire() {
	ctx := context.Background()
	requests := client.NewRateLimiter("user:42", &primitives.RateLimiterOptions{
		Rate: primitives.Rate{Permits: 100, Interval: time.Minute, KeepAlive: time.Hour},
	})
	var limited *primitives.RateLimitError
	switch err := requests.TryAcquire(ctx, 1); {
	case errors.As(err, &limited):
		fmt.Println("429, Retry-After:", int(limited.RetryIn.Seconds())+1)
	case err != nil:
		log.Fatal(err)
	}
}
