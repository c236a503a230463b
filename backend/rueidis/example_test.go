package rueidisbackend_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	b, err := rueidisbackend.New(client, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()

	double := backend.NewScript("double", "return 2 * ARGV[1]", 1, backend.RetryReadOnly)
	reply, err := b.Run(context.Background(), double, []string{"key"}, []string{"21"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Int())
}
