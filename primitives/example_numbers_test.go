package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// A process waits until others have done the three parts of a run. Each may restart at any time: records say which
// parts are done, and the latch only says when to look.
func ExampleCountDownLatch() {
	ctx := context.Background()
	latch := client.NewCountDownLatch("import:2026-11-23") // Each run has a latch of its own name.
	var records sync.Map                                   // instead of a table of a database

	for part := range 3 {
		go func() { // in another process, which may start before the latch is set
			if _, done := records.Load(part); done {
				return // A restarted process counts no part twice.
			}
			if err := latch.WaitUntilSet(ctx); err != nil {
				log.Fatal(err)
			}
			records.Store(part, "imported")
			if _, err := latch.CountDown(ctx); err != nil {
				log.Fatal(err)
			}
		}()
	}

	// If the latch is set, from before a restart, this changes nothing. The latch expires, so a part whose
	// process has crashed delays the run for an hour at most.
	if _, err := latch.InitCountWithTTL(ctx, 3, time.Hour); err != nil {
		log.Fatal(err)
	}
	if err := latch.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	for part := range 3 {
		_, done := records.Load(part) // false: the latch has expired
		fmt.Println("part", part, "is done:", done)
	}
	// Output:
	// part 0 is done: true
	// part 1 is done: true
	// part 2 is done: true
}

// A part counts once, though the process that does it a second time cannot know of the first.
func ExamplePartsLatch() {
	ctx := context.Background()
	latch := client.NewPartsLatch("export:2026-11-23")
	if _, err := latch.Init(ctx, 2, time.Hour); err != nil {
		log.Fatal(err)
	}
	for _, part := range []string{"north", "north", "south", "south"} {
		left, err := latch.CountDown(ctx, part)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(part, "is done, parts left:", left)
	}
	fmt.Println(latch.Wait(ctx))
	// Output:
	// north is done, parts left: 1
	// north is done, parts left: 1
	// south is done, parts left: 0
	// south is done, parts left: 0
	// <nil>
}

// Each number goes to one caller of one process.
func ExampleAtomicLong() {
	number, err := client.NewAtomicLong("invoice").Increment(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("invoice", number)
	// Output: invoice 1
}

// A budget from which processes spend.
func ExampleAtomicDouble() {
	ctx := context.Background()
	budget := client.NewAtomicDouble("budget")
	if _, err := budget.Add(ctx, 10); err != nil {
		log.Fatal(err)
	}
	left, err := budget.Add(ctx, -12.5)
	if err != nil {
		log.Fatal(err)
	}
	if left < 0 {
		fmt.Println("overdrawn by", -left)
	}
	// Output: overdrawn by 2.5
}

// Each id goes to one caller of one process. Most calls send nothing.
func ExampleIDGenerator() {
	ctx := context.Background()
	orders := client.NewIDGenerator("order")
	if _, err := orders.Init(ctx, 500, 1000); err != nil { // The first process sets the first id.
		log.Fatal(err)
	}
	for range 2 {
		id, err := orders.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("order", id)
	}
	// Output:
	// order 500
	// order 501
}

// Each process counts the requests that it serves, and sends nothing for that. A process that wants the sum asks
// all of them.
func ExampleLongAdder() {
	ctx := context.Background()
	served, err := client.OpenLongAdder(ctx, "served") // once, when the process starts
	if err != nil {
		log.Fatal(err)
	}
	defer served.Close()
	served.Increment() // for each request
	served.Increment()

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	total, err := served.Sum(ctx)
	var missing *primitives.UnansweredError
	if errors.As(err, &missing) {
		fmt.Println("some processes do not answer:", missing) // They hang, or are cut off: ask again later.
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("all processes served", total, "requests")
	// Output: all processes served 2 requests
}

// Each process adds up the seconds that it works.
func ExampleDoubleAdder() {
	ctx := context.Background()
	worked, err := client.OpenDoubleAdder(ctx, "seconds of work")
	if err != nil {
		log.Fatal(err)
	}
	defer worked.Close()
	worked.Add((1500 * time.Millisecond).Seconds())
	worked.Add((250 * time.Millisecond).Seconds())

	total, err := worked.Sum(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("all processes worked for", total, "seconds")
	// Output: all processes worked for 1.75 seconds
}
