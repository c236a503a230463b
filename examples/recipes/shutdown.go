package recipes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// The parts of a pod's terminationGracePeriodSeconds, which is 30 by default. What is left is for the rest.
const (
	drainTimeout = 20 * time.Second // for the requests that are under way
	closeTimeout = 5 * time.Second  // for the releases of what they have left
)

// Serve serves requests until SIGTERM, which Kubernetes sends first. Then it accepts no more, and lets those
// under way finish: their locks are renewed until they are released. After drainTimeout the contexts of what is
// still held end, and it is released. What cannot be released within closeTimeout ends with its lease.
//
// The caller closes the driver's client after Serve has returned, and before it the backend if it made one itself. A nil
// error says that all requests were finished and everything was released.
func Serve(listener net.Listener, handler http.Handler, client *primitives.Client) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return errors.Join(err, closeClient(client))
	case <-ctx.Done():
	}
	stop() // A second signal ends the process.
	draining, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	return errors.Join(server.Shutdown(draining), closeClient(client))
}

// closeClient releases what is still held, within closeTimeout.
func closeClient(client *primitives.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return client.Close(ctx)
}
