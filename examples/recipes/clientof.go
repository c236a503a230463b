package recipes

import (
	"context"
	"sync"

	"github.com/hasp-go/hasp/primitives"
)

var (
	mu      sync.Mutex
	clients = map[any]*primitives.Client{} // by the driver's client
)

// ClientOf returns the client over conn, the same for each call. The adapter of conn's driver has newClient.
func ClientOf[C any](
	conn C, newClient func(conn C, opts *primitives.Options) (*primitives.Client, error),
) (*primitives.Client, error) {
	mu.Lock()
	defer mu.Unlock()
	if client := clients[conn]; client != nil {
		return client, nil
	}
	client, err := newClient(conn, nil)
	if err == nil {
		clients[conn] = client
	}
	return client, err
}

// CloseClient closes the client over conn, if there is one. The caller closes conn afterwards.
func CloseClient(ctx context.Context, conn any) error {
	mu.Lock()
	client := clients[conn]
	delete(clients, conn)
	mu.Unlock()
	if client == nil {
		return nil
	}
	return client.Close(ctx)
}
