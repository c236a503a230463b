// Command httpidem charges once for each Idempotency-Key, over all its processes: REDIS=127.0.0.1:6379 go run .
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/integration/httpidem"
	"github.com/hasp-go/hasp/primitives"
)

func newHandler(client *primitives.Client, charge http.HandlerFunc) (http.Handler, error) {
	idem, err := httpidem.New(client, "charges", &httpidem.Options{
		Tenant:  func(r *http.Request) string { user, _, _ := r.BasicAuth(); return user }, // checked by the proxy
		OnError: func(_ *http.Request, err error) { log.Print("idempotency: ", err) },
	})
	if err != nil {
		return nil, err
	}
	return idem.Handler(charge), nil
}

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := newHandler(client, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "charged") })
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
