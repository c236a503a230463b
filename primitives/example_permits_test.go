package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// At most three processes at a time do something heavy. A process that crashes takes its permit with it: if
// processes may crash, use a [PermitSemaphore]. The first Acquire makes the semaphore, also after the server has
// lost its data.
func ExampleSemaphore() {
	ctx := context.Background()
	heavy := client.NewSemaphore("heavy", &primitives.SemaphoreOptions{Permits: 3})
	if err := heavy.Acquire(ctx, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("heavy work")
	if err := heavy.Release(ctx, 1); err != nil { // sent even if ctx has ended
		log.Fatal(err)
	}
	// Output: heavy work
}

// At most three processes at a time do something heavy. The first Acquire makes the semaphore, also after the
// server has lost its data. If a process crashes, its permit returns when its lease ends.
func ExamplePermitSemaphore() {
	heavy := client.NewPermitSemaphore("heavy", &primitives.PermitSemaphoreOptions{Permits: 3})
	err := heavy.Do(context.Background(), 1, func(context.Context, *primitives.Lease) error {
		fmt.Println("heavy work") // The context ends when the permit is lost.
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: heavy work
}

// A process acquires a permit, and a second process does the work and releases the permit. If the second one fails, the
// permit returns after ten minutes.
func ExamplePermitSemaphore_Release() {
	ctx := context.Background()
	heavy := client.NewPermitSemaphore("heavy", &primitives.PermitSemaphoreOptions{
		Permits: 3, Lease: 10 * time.Minute,
	})
	lease, err := heavy.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	order := heavy.IDs(lease)[0].String() // passed on, for example in a message of a queue

	id, err := primitives.ParsePermitID(order)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("heavy work in another process")
	if err := heavy.Release(ctx, id); err != nil { // ErrNotHeld: it took too long
		log.Fatal(err)
	}
	// Output: heavy work in another process
}

// At most five exports run at a time, in all processes, first come, first served. If a process crashes, its
// slot becomes free when its lease ends.
func ExampleCountingSemaphore() {
	exports := client.NewCountingSemaphore("exports", 5, &primitives.CountingSemaphoreOptions{
		Order: primitives.ByArrival,
	})
	err := exports.Do(context.Background(), func(context.Context, *primitives.Lease) error {
		fmt.Println("exporting") // The context ends if the slot is lost.
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: exporting
}

// A worker that makes no progress loses its slot: only the worker renews its lease, after each step.
func ExampleCountingSemaphore_Refresh() {
	ctx := context.Background()
	workers := client.NewCountingSemaphore("workers", 3, &primitives.CountingSemaphoreOptions{Lease: time.Minute})
	err := workers.Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
		for step := range 3 {
			fmt.Println("step", step)
			err := workers.Refresh(ctx, lease)
			if errors.Is(err, primitives.ErrNotHeld) {
				return fmt.Errorf("too slow, others have the slot: %w", err)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 0
	// step 1
	// step 2
}

// Another service takes ten calls in a second, from all processes together. The first Wait makes the limiter.
func ExampleRateLimiter() {
	ctx := context.Background()
	calls := client.NewRateLimiter("geocoder", primitives.Rate{Permits: 10, Interval: time.Second},
		&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	if err := calls.Wait(ctx, 1); err != nil { // waits for its turn
		log.Fatal(err)
	}
	fmt.Println("calling the geocoder")
	// Output: calling the geocoder
}

// A user's second request within a day is refused, with the time after which to try again. A user without requests
// for two days is forgotten.
func ExampleRateLimiter_Allow() {
	ctx := context.Background()
	requests := client.NewRateLimiter("user:42",
		primitives.Rate{Permits: 1, Interval: 24 * time.Hour, KeepAlive: 48 * time.Hour},
		&primitives.RateLimiterOptions{Unavailable: primitives.Admit()})
	for range 2 {
		decision, err := requests.Allow(ctx, 1)
		if err != nil {
			log.Fatal(err)
		}
		if decision.Allowed {
			fmt.Println("200 OK")
		} else {
			fmt.Println("429 Too Many Requests, try again in", decision.RetryAfter.Round(time.Hour))
		}
	}
	// Output:
	// 200 OK
	// 429 Too Many Requests, try again in 24h0m0s
}

// A user may send two mails on each calendar day. Each day has a limiter of its own, so at midnight, in the user's time
// zone, the next quota begins. A day has 25 hours at most: no permit comes back before it is over.
func ExampleRateLimiter_calendarDay() {
	today := time.Now().In(time.UTC).Format(time.DateOnly)
	mails := client.NewRateLimiter("mails:42:"+today, primitives.Rate{Permits: 2, Interval: 25 * time.Hour},
		&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	for range 3 {
		decision, err := mails.Allow(context.Background(), 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(map[bool]string{true: "sent", false: "try again tomorrow"}[decision.Allowed])
	}
	// Output:
	// sent
	// sent
	// try again tomorrow
}

// A user may send 3 requests at once, and otherwise one each 20 minutes. A refusal says when to come back.
func ExampleThrottle_Allow() {
	ctx := context.Background()
	requests := client.NewThrottle("user:42:requests", primitives.Limit{Permits: 3, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Admit()})
	for range 4 {
		switch decision, err := requests.Allow(ctx, 1); {
		case err != nil:
			log.Fatal(err)
		case decision.Allowed:
			fmt.Println("200 OK, requests left:", decision.Remaining)
		default:
			fmt.Println("429 Too Many Requests, try again in", decision.RetryAfter.Round(time.Minute))
		}
	}
	// Output:
	// 200 OK, requests left: 2
	// 200 OK, requests left: 1
	// 200 OK, requests left: 0
	// 429 Too Many Requests, try again in 20m0s
}

// A user may send 2 requests at once, and the user's tenant 3. A request that one of them refuses takes nothing from the
// other.
func ExampleMultiThrottle() {
	ctx := context.Background()
	tenant := client.NewThrottle("tenant:acme", primitives.Limit{Permits: 3, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()})
	for _, name := range []string{"ann", "ann", "ann", "bob", "bob"} {
		user := client.NewThrottle("tenant:acme:"+name, primitives.Limit{Permits: 2, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()})
		decision, err := primitives.NewMultiThrottle(nil, user.Take(1), tenant.Take(1)).Allow(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, decision.Allowed, decision.Throttle.Name(), decision.RetryAfter.Round(time.Minute))
	}
	// Output:
	// ann true tenant:acme:ann 0s
	// ann true tenant:acme:ann 0s
	// ann false tenant:acme:ann 30m0s
	// bob true tenant:acme 0s
	// bob false tenant:acme 20m0s
}

// A service allows 2 requests at a time, and 3 an hour. The slot is free again after the request, the permit is not.
func ExampleAdmission() {
	ctx := context.Background()
	slots := client.NewCountingSemaphore("{geocoder}:slots", 2, nil)
	rate := client.NewThrottle("{geocoder}:rate", primitives.Limit{Permits: 3, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()})
	requests := primitives.NewAdmission(slots, rate.Take(1))
	for i := range 3 {
		err := requests.Do(ctx, func(context.Context, *primitives.Lease) error {
			fmt.Println("request", i)
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	_, err := requests.TryAcquire(ctx)
	var refused *primitives.AdmissionError
	if errors.As(err, &refused) {
		fmt.Println("full:", refused.Full, "try again in", refused.RetryIn.Round(time.Minute))
	}
	// Output:
	// request 0
	// request 1
	// request 2
	// full: false try again in 20m0s
}

// A job writes 100 rows in a second, and no more than 10 at once. It waits for its turn.
func ExampleThrottle_Wait() {
	ctx := context.Background()
	writes := client.NewThrottle("import:rows", primitives.Limit{Permits: 100, Interval: time.Second, Burst: 10}, &primitives.ThrottleOptions{Unavailable: primitives.Admit()})
	for written := 0; written < 20; written += 10 {
		if err := writes.Wait(ctx, 10); err != nil {
			log.Fatal(err)
		}
		fmt.Println("writing 10 rows")
	}
	// Output:
	// writing 10 rows
	// writing 10 rows
}
