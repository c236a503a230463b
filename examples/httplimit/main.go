// Command httplimit answers each address ten times an hour, over all its processes: REDIS=127.0.0.1:6379 go run .
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

func newHandler(client *primitives.Client) (http.Handler, error) {
	limit, err := httplimit.NewRateLimiter(client, "hello", primitives.Rate{Permits: 10, Interval: time.Hour}, &httplimit.Options{
		Key:         httplimit.RemoteIP,
		Unavailable: primitives.Admit(), // Without Redis, too many greetings are better than none.
		OnError:     func(_ *http.Request, err error) { log.Print("rate limit: ", err) },
	})
	if err != nil {
		return nil, err
	}
	return limit.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })), nil
}

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := newHandler(client)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
