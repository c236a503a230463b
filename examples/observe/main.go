// Command observe uses locks, a semaphore, a rate limiter and a periodic job, and serves what Prometheus collects of them:
//
//	REDIS=127.0.0.1:6379 go run ./observe -listen 127.0.0.1:9464
//
// Without REDIS it takes the embedded server. prometheus.yml is a configuration with which Prometheus scrapes it.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
)

// connect returns a client over the server at addr, or over a new embedded server if addr is "".
func connect(addr string, opts *primitives.Options) (*primitives.Client, error) {
	if addr == "" {
		return embedded.NewClient(embedded.NewServer(), opts)
	}
	return goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: addr}), opts)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9464", "address of /metrics")
	rate := flag.Int("rate", 5, "calls of the API a second; all processes should have the same")
	flag.Parse()
	tracer, err := promhasp.NewTracer(prometheus.DefaultRegisterer)
	if err != nil {
		log.Fatal(err)
	}
	client, err := connect(os.Getenv("REDIS"), &primitives.Options{Tracer: tracer})
	if err != nil {
		log.Fatal(err)
	}
	go work(context.Background(), client, *rate)
	http.Handle("/metrics", promhttp.Handler())
	log.Fatal(http.ListenAndServe(*listen, nil))
}
