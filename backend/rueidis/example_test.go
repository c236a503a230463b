package rueidisbackend_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

// address is the address of a server, such as "127.0.0.1:6379".
var address = (&adaptertest.Server{Answer: adaptertest.Double}).Listen(new(testing.T)).Addr

func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	b, err := rueidisbackend.New(client, nil) // for primitives.New
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
	// Output: 42 <nil>
}
