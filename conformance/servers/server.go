package servers

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

const (
	patience = 30 * time.Second // with a server, until it is as asked
	shownLog = 8 << 10
)

// ErrNotRunning means that the server was killed, has crashed, or ended with its test.
var ErrNotRunning = errors.New("server not running")

var errPortTaken = errors.New("port taken by another process")

// Options are the options of a server; nil means the defaults.
type Options struct {
	// Config holds directives of the configuration file, by name: "maxmemory": "50mb". They override
	// the package's own, and leave out those that are empty.
	Config map[string]string

	// TLS makes the server listen on [Server.TLSAddr], too, for clients that have
	// [Server.TLSConfig]: their certificate is asked for. Addr stays without TLS.
	TLS bool

	_ struct{}
}

// Server is a running server process. Its methods are safe for concurrent use.
type Server struct {
	kind    Kind
	dir     string
	opts    Options
	port    int
	tlsPort int         // 0: no TLS
	tls     *tls.Config // nil: no TLS

	sentinel bool   // it watches servers, and has no data
	id       string // of a node of a cluster
	busPort  int    // that a node of a cluster announces

	mu      sync.Mutex
	process *process
	closed  bool
}

// Start starts a server that ends with the test, and waits until it answers. It skips the test if the binary is
// missing (see [Need]), and fails it on any other error. When the test fails, the end of the server's log is shown.
func Start(tb TB, kind Kind, opts *Options) *Server {
	tb.Helper()
	s := newServer(kind, opts)
	begin(tb, kind, s, s.launch)
	return s
}

// At returns a server that another program runs at a port of this machine, for [Server.Do].
func At(port int) *Server { return &Server{port: port} }

func newServer(kind Kind, opts *Options) *Server {
	s := &Server{kind: kind}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

func (s *Server) servers() []*Server { return []*Server{s} }

// launch starts the server for the first time.
func (s *Server) launch() (err error) {
	if s.dir, err = os.MkdirTemp("", "hasp-"+programs[s.kind].binary+"-*"); err != nil {
		return err
	}
	if s.opts.TLS {
		if s.tls, err = newCertificate(s.dir); err != nil {
			return err
		}
	}
	for range 10 { // Another process may take the ports first.
		if err = s.takePorts(); err != nil {
			return err
		}
		if err = s.start(); !errors.Is(err, errPortTaken) {
			return err
		}
		s.givePorts()
		_ = os.Remove(s.logFile()) // Or the next start would be judged by it.
	}
	return err
}

func (s *Server) takePorts() (err error) {
	if s.port, err = loopback.Take(); err == nil && s.opts.TLS {
		s.tlsPort, err = loopback.Take()
	}
	return err
}

func (s *Server) givePorts() {
	loopback.Give(s.port)
	loopback.Give(s.tlsPort)
}

// Addr returns the server's address, host:port. It stays the same over restarts.
func (s *Server) Addr() string { return loopback.Addr(s.port) }

// TLSAddr returns the server's address for clients with TLS. It needs [Options.TLS].
func (s *Server) TLSAddr() string { return loopback.Addr(s.tlsPort) }

// TLSConfig returns what clients need, and what a proxy needs ([proxy.New]): the authority, and a
// certificate for both ends. Nil without [Options.TLS].
func (s *Server) TLSConfig() *tls.Config { return s.tls.Clone() }

// Do runs one command on a connection of its own, and waits for the reply for up to 20 s. An error
// reply is a [*backend.ServerError].
func (s *Server) Do(words ...string) (backend.Reply, error) { return resp.Do(s.Addr(), words...) }

// run runs one command whose reply says nothing more.
func (s *Server) run(words ...string) error {
	_, err := s.Do(words...)
	return err
}

// text returns what a reply says, unless there is none.
func text(reply backend.Reply, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// items returns the items of a reply, unless there is none.
func items(reply backend.Reply, err error) ([]backend.Reply, error) {
	if err != nil {
		return nil, err
	}
	return reply.Items()
}

// Info returns the fields of a section of INFO, such as "clients".
func (s *Server) Info(section string) (map[string]string, error) {
	info, err := text(s.Do("INFO", section))
	return fields(info), err
}

// fields splits the lines "name:value" of INFO and its like.
func fields(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		out[name] = value
	}
	return out
}

// log returns the end of the server's log.
func (s *Server) log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-shownLog):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// Pause stops the process where it is (SIGSTOP), as a machine that hangs: its connections stay
// open, the kernel still accepts bytes and new connections, and nothing answers. On Windows it fails
// with [errors.ErrUnsupported], as Resume does.
func (s *Server) Pause() error { return s.signal(pauseSignal) }

// Resume lets a paused server go on. Its clock has moved on, and what arrived meanwhile is run.
func (s *Server) Resume() error { return s.signal(resumeSignal) }

func (s *Server) signal(signal os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case signal == nil:
		return errors.ErrUnsupported
	case s.process == nil || s.process.ended():
		return ErrNotRunning
	}
	return s.process.cmd.Process.Signal(signal)
}

// Kill ends the process at once (SIGKILL), as a crash does, and waits until it has ended. The
// address stays reserved for Restart. Killing a server that is down is allowed.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) stop() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Data says what becomes of a server's data in [Server.Restart].
type Data bool

const (
	// DropData restarts as after a crash without persistence: all keys and scripts are gone. A
	// cluster's node keeps its place in the cluster.
	DropData Data = false
	// KeepData saves the keys before ending and loads them again; scripts are gone. A server that
	// was killed before has only what it had saved.
	KeepData Data = true
)

// Restart ends the process, if it still runs, and starts it again at the same address; it waits until it answers.
func (s *Server) Restart(data Data) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrNotRunning
	}
	if data == KeepData && s.process != nil {
		if err := s.save(); err != nil {
			return fmt.Errorf("saving: %w", err)
		}
	}
	s.stop()
	if data == DropData { // A cluster's node keeps its own file.
		err := errors.Join(
			os.RemoveAll(filepath.Join(s.dir, "dump.rdb")),
			os.RemoveAll(filepath.Join(s.dir, "appendonlydir")),
		)
		if err != nil {
			return err
		}
	}
	return s.start()
}

// save saves the keys, once no other save, such as that for a new replica, is under way. Writes wait from
// before the saving until the process has ended: what was answered is saved. If the saving fails, writes go on.
func (s *Server) save() error {
	err := s.run("CLIENT", "PAUSE", "60000", "WRITE")
	if err != nil {
		return err
	}
	_ = await(nil, func() error {
		if err = s.run("SAVE"); err != nil && strings.Contains(err.Error(), "in progress") {
			return err
		}
		return nil
	})
	if err != nil {
		err = errors.Join(err, s.run("CLIENT", "UNPAUSE"))
	}
	return err
}

// close ends the process and removes its folder.
func (s *Server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
	s.givePorts()
	return os.RemoveAll(s.dir)
}

// start starts the process on its port and waits until it answers. It is called with mu held, or
// before anybody else has the server.
func (s *Server) start() error {
	config := filepath.Join(s.dir, "server.conf")
	if err := os.WriteFile(config, s.config(), 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := []string{config}
	if s.sentinel {
		args = append(args, "--sentinel")
	}
	path, _, _ := Find(s.kind)
	if s.process, err = startProcess(s.dir, log, path, args...); err != nil {
		return err
	}
	return s.awaitReady(s.process)
}

func (s *Server) config() []byte {
	lines := map[string]string{
		"bind":                     loopback.Host,
		"port":                     strconv.Itoa(s.port),
		"dir":                      s.dir,
		"save":                     `""`,
		"appendonly":               "no",
		"repl-diskless-sync-delay": "0",
		"enable-debug-command":     "local",
	}
	if s.tls != nil {
		lines["tls-port"] = strconv.Itoa(s.tlsPort)
		lines["tls-ca-cert-file"], lines["tls-cert-file"], lines["tls-key-file"] = certFile, certFile, keyFile
	}
	maps.Copy(lines, s.opts.Config)
	maps.DeleteFunc(lines, func(_, value string) bool { return value == "" })
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(&text, name, lines[name])
	}
	return text.Bytes()
}

// awaitReady waits until the process answers on its port: this process, not another one that has
// taken the port meanwhile.
func (s *Server) awaitReady(p *process) error {
	err := await(p.done, func() error {
		info, err := s.Info("default")
		switch {
		case err != nil:
			return err
		case info["process_id"] != strconv.Itoa(p.cmd.Process.Pid):
			return errPortTaken
		case info["loading"] != "0" && !s.sentinel:
			return errors.New("it loads its data")
		}
		return nil
	})
	if err == nil {
		return nil
	}
	ended, log := p.ended(), s.log()
	s.stop()
	switch {
	case !ended:
		return fmt.Errorf("no answer within %v: %w\n%s", patience, err, log)
	case strings.Contains(log, "Address already in use"):
		return errPortTaken
	}
	return fmt.Errorf("%w: it ended at once:\n%s", ErrNotRunning, log)
}
