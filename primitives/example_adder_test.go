package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Each process counts the requests that it serves, and sends nothing for that. Whoever wants to know asks
// all of them.
func ExampleLongAdder() {
	ctx := context.Background()
	served, err := client.OpenLongAdder(ctx, "served") // once, when the process starts
	if err != nil {
		log.Fatal(err)
	}
	defer served.Close()

	served.Increment() // for each request

	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	total, err := served.Sum(bounded)
	if missing := new(primitives.UnansweredError); errors.As(err, &missing) {
		fmt.Println("some processes do not answer:", missing) // stopped, or cut off: ask again later
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(total, "requests were served, by all processes that run")
}

func ExampleDoubleAdder() {
	ctx := context.Background()
	worked, err := client.OpenDoubleAdder(ctx, "seconds of work")
	if err != nil {
		log.Fatal(err)
	}
	defer worked.Close()
	start := time.Now()
	if err := work(ctx); err != nil {
		log.Fatal(err)
	}
	worked.Add(time.Since(start).Seconds())
}
