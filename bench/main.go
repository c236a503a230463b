// Command bench measures the primitives on each driver, next to the driver's own bare commands and other libraries.
// It starts the servers itself:
//
//	go run ./bench -workloads lock_pair,hand_over -backends rueidis,goredis
//
// The subjects of a workload take turns, so what disturbs one disturbs all. It prints medians of the turns;
// "to bare" is the median of the ratios of each round, with its interval.
package main

import (
	"os"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/bench/drivers"
	"github.com/hasp-go/hasp/bench/workloads"
)

// program measures what is in this repository.
var program = benchmark.Program{Drivers: drivers.All(), Workloads: workloads.All()}

func main() { os.Exit(program.Run(os.Stdout, os.Stderr, os.Args[1:])) }
