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
func ExampleNew() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or a client over a real server
	if err != nil {
		log.Fatal(err)
	}
	limit, err := httplimit.New(client, "api", primitives.Rate{Permits: 1, Interval: time.Hour}, &httplimit.Options{
		Key:         httplimit.RemoteIP,
		Unavailable: primitives.Admit,
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
