package httpidem_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/integration/httpidem"
)

// A charge that comes twice is charged once.
func ExampleNew() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or a client over a real server
	if err != nil {
		log.Fatal(err)
	}
	idem, err := httpidem.New(client, "charges", &httpidem.Options{
		Tenant: func(r *http.Request) string { return r.Header.Get("User") }, // of an authenticated request
	})
	if err != nil {
		log.Fatal(err)
	}
	h := idem.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("charged")
		fmt.Fprint(w, "receipt 1")
	}))
	for range 2 {
		r, w := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(`{"cents":1250}`)), httptest.NewRecorder()
		r.Header.Set("User", "ann")
		r.Header.Set("Idempotency-Key", `"8e03978e"`)
		h.ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Body, w.Header().Get("Idempotent-Replayed"))
	}
	// Output:
	// charged
	// 200 receipt 1 ""
	// 200 receipt 1 "true"
}
