package httplimit_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

// Each address may send one request an hour.
func ExampleNewRateLimiter() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or a client over a real server
	if err != nil {
		log.Fatal(err)
	}
	limit, err := httplimit.NewRateLimiter(client, "api", primitives.Rate{Permits: 1, Interval: time.Hour}, &httplimit.Options{
		Key:         httplimit.RemoteIP,
		Unavailable: primitives.Admit(),
	})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fmt.Println("served") }))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// served
	// 200 "api";q=1;w=3600
	// 429 "api";q=1;w=3600
}

// Each user may send two requests at once, and then one each minute. All users together may send three an hour.
func ExampleNewMultiThrottle() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or a client over a real server
	if err != nil {
		log.Fatal(err)
	}
	limit, err := httplimit.NewMultiThrottle(client, &httplimit.MultiThrottleOptions{Options: httplimit.Options{Unavailable: primitives.Admit()}},
		httplimit.Policy{
			Name:  "{api}user",
			Limit: primitives.Limit{Permits: 1, Interval: time.Minute, Burst: 2},
			Key:   func(r *http.Request) string { return r.Header.Get("User") }, // of an authenticated request
		},
		httplimit.Policy{Name: "{api}all", Limit: primitives.Limit{Permits: 3, Interval: time.Hour}})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, user := range []string{"ann", "ann", "ann", "bob"} {
		r, w := httptest.NewRequest(http.MethodGet, "/api/", http.NoBody), httptest.NewRecorder()
		r.Header.Set("User", user)
		h.ServeHTTP(w, r)
		fmt.Println(user, w.Code, w.Header().Values("RateLimit"))
	}
	// Output:
	// ann 200 ["{api}user";r=1 "{api}all";r=2]
	// ann 200 ["{api}user";r=0;t=60 "{api}all";r=1]
	// ann 429 ["{api}user";r=0;t=60 "{api}all";r=1]
	// bob 200 ["{api}user";r=1 "{api}all";r=0;t=1200]
}
