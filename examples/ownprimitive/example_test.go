package barrier_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/hasp-go/hasp/backend/embedded"
	barrier "github.com/hasp-go/hasp/examples/ownprimitive"
)

// Three workers do a step each, and begin the next one together.
func Example() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or an adapter's NewClient over the driver's client
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())

	step := barrier.New(client, "import:step", 3)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			fmt.Println("fetched")
			if err := step.Await(context.Background()); err != nil {
				log.Fatal(err)
			}
			fmt.Println("stored")
		})
	}
	all.Wait()
	// Output:
	// fetched
	// fetched
	// fetched
	// stored
	// stored
	// stored
}
