package idempotency

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
	fiberredis "github.com/gofiber/storage/redis/v3"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/integration/httpidem"
)

// The environment of a process of a service.
const (
	peerVariable = "HASP_IDEMPOTENCY_PEER"
	addrVariable = "HASP_IDEMPOTENCY_REDIS"
)

// peers have the same service, each behind its middleware, on a Redis that its processes share.
var peers = map[string]func(addr string, charge http.HandlerFunc) (http.Handler, error){
	"hasp": func(addr string, charge http.HandlerFunc) (http.Handler, error) {
		client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: addr}), nil)
		if err != nil {
			return nil, err
		}
		idem, err := httpidem.New(client, "api", &httpidem.Options{
			Tenant:  func(r *http.Request) string { return r.Header.Get("User") },
			Timeout: time.Minute, // The machine may be busy.
		})
		if err != nil {
			return nil, err
		}
		return idem.Handler(charge), nil
	},
	"fiber": func(addr string, charge http.HandlerFunc) (http.Handler, error) {
		return fiberService(addr, nil, charge), nil
	},
	"fiber, redsync": func(addr string, charge http.HandlerFunc) (http.Handler, error) {
		locks := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: addr})))
		return fiberService(addr, &redsyncLocker{locks: locks, held: map[string]*redsync.Mutex{}}, charge), nil
	},
}

func fiberService(addr string, lock idempotency.Locker, charge http.HandlerFunc) http.Handler {
	app := fiber.New()
	app.Use(idempotency.New(idempotency.Config{
		Storage: fiberredis.New(fiberredis.Config{Addrs: []string{addr}}), Lock: lock,
		KeyHeader: "Idempotency-Key", KeyHeaderValidate: func(string) error { return nil },
	}))
	app.Post("/charges", adaptor.HTTPHandler(charge))
	return adaptor.FiberApp(app)
}

// TestMain is a process of a service if the environment says so.
func TestMain(m *testing.M) {
	if name := os.Getenv(peerVariable); name != "" {
		log.Fatal(serve(name, os.Getenv(addrVariable)))
	}
	os.Exit(m.Run())
}

func serve(name, addr string) error {
	ledger := redis.NewClient(&redis.Options{Addr: addr})
	handler, err := peers[name](addr, func(w http.ResponseWriter, r *http.Request) {
		// A charge is booked, and then the answer waits for the test.
		ledger.Incr(context.Background(), "charges")
		said, err := ledger.BLPop(context.Background(), time.Minute, "answers").Result()
		if err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
			return
		}
		var status, size int
		_, _ = fmt.Sscan(said[1], &status, &size)
		w.Header().Set("Set-Cookie", "session="+r.Header.Get("User"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.Repeat("x", size)))
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String() + "/charges")
	return http.Serve(listener, handler) //nolint:gosec // It serves this test alone.
}

// process starts one, and returns its address and a function that kills it.
func process(t *testing.T, name, addr string) (url string, kill func()) {
	t.Helper()
	command := exec.Command(os.Args[0]) //nolint:noctx // The cleanup ends it.
	command.Env = append(os.Environ(), peerVariable+"="+name, addrVariable+"="+addr)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	kill = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(kill)
	url, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url), kill
}
