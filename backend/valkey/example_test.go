package valkeybackend_test

import (
	"context"
	"fmt"
	"log"

	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
)

func ExampleNew() { //nolint:testableexamples // A test of internal/gen runs that of rueidis, with a server.
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	b, err := valkeybackend.New(client, nil) // for primitives.New
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	script := backend.NewScript("double", "return 2 * ARGV[1]", 1, backend.RetryReadOnly)
	reply, err := b.Run(context.Background(), script, []string{"key"}, []string{"21"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Int())
}
