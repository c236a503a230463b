package goredisbackend_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// address is the address of a server, such as "127.0.0.1:6379".
var address = newFakeServer(new(testing.T), adaptertest.Double).Addr

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	b, err := goredisbackend.New(client, nil) // for primitives.New
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
