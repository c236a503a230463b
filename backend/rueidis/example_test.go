package rueidisbackend_test

import (
	"context"
	"fmt"
	"log"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

// address is the address of a server, such as "127.0.0.1:6379".
var address = (&fakeServer{answer: func(words []string) string {
	if words[0] == "CLUSTER" {
		return "-ERR This instance has cluster support disabled\r\n"
	}
	return double(words)
}}).listen()

// double is the server's answer to the example's script.
func double(words []string) string {
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return "-ERR " + err.Error() + "\r\n"
	}
	return fmt.Sprintf(":%d\r\n", 2*n)
}

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
