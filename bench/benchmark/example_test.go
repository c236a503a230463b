package benchmark_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/bench/workloads"
)

// A program with a backend and a workload of its own: two subjects count, each goroutine by one object or all by the
// same. examples/ownbench is a program with a driver and a primitive of other modules.
func ExampleProgram() {
	counting := benchmark.Workload{
		Name: "counting", Sizes: []int{8}, Unit: "goroutines", Subjects: func(s *benchmark.Setup) []benchmark.Subject {
			client := s.NewClient(s.Open(false).Backend)
			var apart, together []func(context.Context) error
			add := func(name string) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := client.NewAtomicLong(name).Add(ctx, 1)
					return err
				}
			}
			for i := range s.Size {
				apart, together = append(apart, add(strconv.Itoa(i))), append(together, add("same"))
			}
			return []benchmark.Subject{
				{Name: "apart", Turn: workloads.ForAWhile(s.Turn, apart)},
				{Name: "together", Turn: workloads.ForAWhile(s.Turn, together)},
			}
		},
	}
	inProcess := benchmark.Driver{Name: "mine", InProcess: true, Open: func(s *benchmark.Setup, _ bool) *benchmark.Client {
		b, err := embedded.New(s.Embedded, nil)
		s.Must(err)
		s.Close(b.Close)
		return &benchmark.Client{Backend: b}
	}}
	program := benchmark.Program{Drivers: []benchmark.Driver{inProcess}, Workloads: []benchmark.Workload{counting}}
	code := program.Run(io.Discard, os.Stderr, []string{"-rounds", "2", "-turn", "2ms"}) // os.Stdout has the table.
	fmt.Println("exit code", code)
	// Output: exit code 0
}
