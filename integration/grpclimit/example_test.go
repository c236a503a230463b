package grpclimit_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/integration/grpclimit"
	"github.com/hasp-go/hasp/primitives"
)

// Each user may send two calls at once, and then one each hour.
func ExampleNewThrottle() {
	client, err := embedded.NewClient(embedded.NewServer(), nil) // or a client over a real server
	if err != nil {
		log.Fatal(err)
	}
	hourly := primitives.Limit{Permits: 1, Interval: time.Hour, Burst: 2}
	limit, err := grpclimit.NewThrottle(client, "api", hourly, &grpclimit.Options{
		Key: func(ctx context.Context, _ string) string {
			return fmt.Sprint(metadata.ValueFromIncomingContext(ctx, "user"))
		},
		Unavailable: primitives.Admit(),
	})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	defer server.Stop() // A service registers itself here, and serves.

	ann := metadata.NewIncomingContext(context.Background(), metadata.Pairs("user", "ann"))
	for range 3 { // as the server does
		_, err := limit.Unary(ann, nil, &grpc.UnaryServerInfo{FullMethod: "/greeter.Greeter/Greet"}, greet)
		fmt.Println(status.Code(err))
	}
	// Output:
	// OK
	// OK
	// ResourceExhausted
}

func greet(context.Context, any) (any, error) { return "hello", nil }
