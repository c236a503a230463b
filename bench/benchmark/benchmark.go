// Package benchmark measures drivers, workloads and primitives: ours, which are in packages drivers and workloads next
// to it, and those of other modules.
//
// A program lists what it can measure, and [Program.Run] does the rest: it reads flags, starts servers, lets the
// subjects of a workload take turns, and prints tables, benchstat's format or JSON, and draws pictures. The
// program bench of this repository is no more than that.
package benchmark

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Driver is a driver to measure.
type Driver struct {
	// Name is what flags and tables call the driver.
	Name string

	// InProcess says that the driver needs no server: its clients share [Setup.Embedded], or what they like.
	InProcess bool

	// Open connects a new client to the server at [Setup.Addr], and passes what ends it to [Scope.Close]. With many,
	// the workload opens up to hundreds of clients, so each should have few connections and small buffers.
	Open func(s *Setup, many bool) *Client

	// Peers are other libraries with a lock, or a limiter, that works on this driver.
	Peers []Peer
}

// Client is a client of a server, as an application has one.
type Client struct {
	Backend backend.Backend

	// Send sends one command by the driver alone, waits for the reply, and decodes it. With it, a workload compares
	// hasp with the driver's bare commands, and with the lock of SET NX. If it is nil, the backend sends the
	// bare commands, and there is no such lock.
	Send func(ctx context.Context, words ...string) error
}

// Peer is a library with a lock, or with a limiter.
type Peer struct {
	// Name is what the flag -peers and tables call the library.
	Name string

	// Open connects a new client, as [Driver.Open] does, and returns its locks by name. Nil: it has a limiter.
	Open func(s *Setup, many bool) func(name string) Lock

	// Limiter connects a new client, and returns what takes a permit by name. Nil: it has a lock.
	Limiter func(s *Setup, perHour int) func(ctx context.Context, name string) (allowed bool, err error)
}

// Lock waits until the caller holds a lock, and returns what releases it.
type Lock func(ctx context.Context) (unlock func(ctx context.Context) error, err error)

// Redisson is the name of the one peer that is not in this process: a JVM runs and measures it.
const Redisson = "redisson"

// Workload is something to measure. Package workloads makes one of a function that uses a primitive.
type Workload struct {
	// Name is what the flag -workloads and tables call the workload: words in lower case, joined by underscores.
	Name string

	// Sizes are of what a run has, such as goroutines, which Unit says. The first Short of them are those of a
	// short run; 0: all.
	Sizes []int
	Unit  string
	Short int

	// Rounds is how many rounds are enough, at most, as for what takes long; 0: as many as are asked for.
	Rounds int

	// Weight is how long a turn of a subject takes, in turns of the usual length; 0: one.
	Weight float64

	// Remote says that the workload needs a server in a process of its own.
	Remote bool

	// Unlinked says that a delayed link changes nothing of what is measured, and is left out.
	Unlinked bool

	// Peers are the names of peers that the workload has on each driver with a server. Those of [Driver.Peers] take
	// part where the workload asks for them.
	Peers []string

	// Subjects opens those that take turns. They end with the setup. If their turns end the server, it sets the setup's
	// Server to nil: then nothing is measured of the server.
	Subjects func(s *Setup) []Subject
}

// Setup is what the subjects of one workload, size, driver and server share.
type Setup struct {
	*Scope
	Driver   Driver
	Server   *servers.Server  // nil: the driver needs none
	Addr     string           // of the server, through the delayed link if there is one
	Embedded *embedded.Server // a new server in this process, for a driver that needs no other; else nil
	Size     int              // one of the workload's
	Turn     time.Duration    // how long a turn lasts, where it may last for any time
	Peers    []string         // the names of those that the flag lets take part
}

// Open connects a new client of the driver.
func (s *Setup) Open(many bool) *Client { return s.Driver.Open(s, many) }

// NewClient returns a client of hasp on a backend, which ends with the setup.
func (s *Setup) NewClient(b backend.Backend) *primitives.Client {
	client, err := primitives.New(b, nil)
	s.Must(err)
	s.Close(func() error { return client.Close(context.Background()) })
	return client
}
