// Command ownbench measures a driver and a primitive of other modules next to those of hasp: the adapter of
// examples/ownbackend over redigo, and the barrier of examples/ownprimitive. It has the flags of the program bench:
//
//	go run ./examples/ownbench -backends redigo,goredis -workloads barrier_pass,lock_pair -sizes 1,64
package main

import (
	"context"
	"os"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/bench/drivers"
	"github.com/hasp-go/hasp/bench/workloads"
	redigobackend "github.com/hasp-go/hasp/examples/ownbackend"
	barrier "github.com/hasp-go/hasp/examples/ownprimitive"
	"github.com/hasp-go/hasp/primitives"
)

var program = benchmark.Program{
	Drivers:   append([]benchmark.Driver{{Name: "redigo", Open: open}}, drivers.All()...),
	Workloads: append(workloads.All(), workloads.Pair("barrier_pass", pass)),
}

func main() { os.Exit(program.Run(os.Stdout, os.Stderr, os.Args[1:])) }

// open opens a pool, with a backend over it.
func open(s *benchmark.Setup, _ bool) *benchmark.Client {
	pool := &redis.Pool{MaxIdle: 64, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", s.Addr)
	}}
	s.Close(pool.Close)
	b, err := redigobackend.New(pool, nil)
	s.Must(err)
	s.Close(b.Close)
	return &benchmark.Client{Backend: b}
}

// pass makes a barrier for one, who passes it again and again.
func pass(_ context.Context, client *primitives.Client, name string) (func(ctx context.Context) error, error) {
	return barrier.New(client, name, 1).Await, nil
}
