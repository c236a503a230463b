package inspect_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func ExampleDescribe() {
	var client *primitives.Client // of a backend such as backend/goredis
	objects, err := inspect.Describe(context.Background(), client, "orders:42")
	if err != nil {
		log.Panic(err)
	}
	for _, o := range objects {
		for _, holder := range o.Holders {
			fmt.Println(o.Kind, holder.Owner, holder.Metadata)
		}
	}
}
