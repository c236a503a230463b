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
)

const (
	startTimeout = 30 * time.Second
	shownLog     = 8 << 10
)

var (
	// ErrNotFound means that the server's binary is missing; see [Find].
	ErrNotFound = errors.New("server binary not found")

	// ErrNotRunning means that the server was killed or closed, or has died.
	ErrNotRunning = errors.New("server not running")

	errPortTaken = errors.New("port taken by another process")
)

// Options are the options of a server; nil means the defaults.
type Options struct {
	// Config holds directives of the configuration file, by name: "maxmemory": "50mb". They come
	// after the package's own, and override them.
	Config map[string]string

	// TLS makes the server listen on [Server.TLSAddr], too, for clients that have
	// [Server.TLSConfig]: their certificate is asked for. Addr stays without TLS.
	TLS bool

	_ struct{}
}

// Server is a running server process. Its methods are safe for concurrent use.
type Server struct {
	kind    Kind
	path    string
	version string
	dir     string
	opts    Options
	port    int
	tlsPort int          // 0: no TLS
	keys    *credentials // nil: no TLS

	sentinel bool // it watches servers, and has no data

	mu      sync.Mutex
	process *process
	closed  bool
}

// Start starts a server that ends with the test, and waits until it answers. It skips the test if
// the binary is missing (see [Need]), and fails it on any other error. When the test fails, the end
// of the server's log is shown.
func Start(tb TB, kind Kind, opts *Options) *Server {
	tb.Helper()
	Need(tb, kind)
	s, err := Launch(kind, opts)
	if err != nil {
		tb.Fatalf("starting %s: %v", kind, err)
	}
	tb.Cleanup(func() { s.endWith(tb) })
	return s
}

// showLog shows the end of the server's log in a test that failed.
func (s *Server) showLog(tb TB) {
	if tb.Failed() {
		tb.Logf("log of %s %s at %s:\n%s", s.kind, s.version, s.Addr(), s.Log())
	}
}

func (s *Server) endWith(tb TB) {
	s.showLog(tb)
	if err := s.Close(); err != nil {
		tb.Errorf("closing %s: %v", s.kind, err)
	}
}

// Launch starts a server and waits until it answers. The caller must close it. The error wraps
// [ErrNotFound] if the binary is missing.
func Launch(kind Kind, opts *Options) (*Server, error) {
	return launch(kind, opts, false)
}

// launch starts a server, or a sentinel.
func launch(kind Kind, opts *Options, sentinel bool) (*Server, error) {
	path, version, ok := Find(kind)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, kind.Binary())
	}
	s := &Server{kind: kind, path: path, version: version, sentinel: sentinel}
	if opts != nil {
		s.opts = *opts
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "hasp-"+kind.Binary()+"-*"); err != nil {
		return nil, err
	}
	if s.opts.TLS {
		err = s.certify()
	}
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) certify() (err error) {
	if s.keys, err = newCredentials(); err != nil {
		return err
	}
	return s.keys.write(s.dir)
}

// launch starts the server on free ports: on others if somebody else took the first.
func (s *Server) launch() error {
	for range 10 {
		err := s.takePorts()
		if err != nil {
			return err
		}
		if err = s.start(); !errors.Is(err, errPortTaken) {
			return err
		}
		s.givePorts()
		_ = os.Remove(s.logFile()) // Or the next start would be judged by it.
	}
	return errPortTaken
}

func (s *Server) takePorts() (err error) {
	if s.port, err = takePort(); err == nil && s.opts.TLS {
		s.tlsPort, err = takePort()
	}
	return err
}

func (s *Server) givePorts() {
	givePort(s.port)
	givePort(s.tlsPort)
	s.port, s.tlsPort = 0, 0
}

// Kind returns the server's program.
func (s *Server) Kind() Kind { return s.kind }

// Version returns the server's version, such as 7.0.15.
func (s *Server) Version() string { return s.version }

// Addr returns the server's address, host:port. It stays the same over restarts.
func (s *Server) Addr() string { return address(s.port) }

// Port returns the server's port.
func (s *Server) Port() int { return s.port }

// TLSAddr returns the server's address for clients with TLS. It needs [Options.TLS].
func (s *Server) TLSAddr() string { return address(s.tlsPort) }

// TLSConfig returns what clients need, and what a proxy needs ([ProxyOptions.TLS]): the authority,
// and a certificate for both ends. Nil without [Options.TLS].
func (s *Server) TLSConfig() *tls.Config {
	if s.keys == nil {
		return nil
	}
	return s.keys.config.Clone()
}

// Do runs one command on a connection of its own, and waits for the reply for up to 20 s. An error
// reply is a [*backend.ServerError].
func (s *Server) Do(words ...string) (backend.Reply, error) { return do(s.Addr(), words...) }

// Info returns the fields of a section of INFO, such as "clients", or of all that INFO shows by
// default if section is "".
func (s *Server) Info(section string) (map[string]string, error) {
	words := []string{"INFO", section}
	if section == "" {
		words = words[:1]
	}
	reply, err := s.Do(words...)
	if err != nil {
		return nil, err
	}
	text, err := reply.Text()
	return fields(text), err
}

// fields splits the lines "name:value" of INFO and its like.
func fields(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
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
func (s *Server) Pause() error { return s.signal(pauseProcess) }

// Resume lets a paused server go on. Its clock has moved on, and what arrived meanwhile is run.
func (s *Server) Resume() error { return s.signal(resumeProcess) }

func (s *Server) signal(send func(*os.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.process.ended() {
		return ErrNotRunning
	}
	return send(s.process.cmd.Process)
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
type Data int

const (
	// DropData restarts as after a crash without persistence: all keys and scripts are gone. A
	// cluster's node keeps its place in the cluster.
	DropData Data = iota
	// KeepData saves the keys before ending and loads them again; scripts are gone. A server that
	// was killed before has only what it had saved.
	KeepData
)

// Restart ends the process, if it still runs, and starts it again at the same address; it waits
// until it answers.
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
	if data == DropData {
		if err := s.dropData(); err != nil {
			return err
		}
	}
	return s.start()
}

// save saves the keys, once no other save, such as that for a new replica, is under way.
//
// Writes wait from before the saving until the process has ended: what was answered is saved.
func (s *Server) save() error {
	if _, err := s.Do("CLIENT", "PAUSE", "60000", "WRITE"); err != nil {
		return err
	}
	var err error
	_ = awaitNil(func() error {
		if _, err = s.Do("SAVE"); err != nil && strings.Contains(err.Error(), "in progress") {
			return err
		}
		return nil
	})
	return err
}

// dropData removes what a server loads at its start, but not a cluster node's own file.
func (s *Server) dropData() error {
	return errors.Join(
		os.RemoveAll(filepath.Join(s.dir, "dump.rdb")),
		os.RemoveAll(filepath.Join(s.dir, "appendonlydir")),
	)
}

// Close ends the process and removes its folder. Closing twice is allowed.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	givePort(s.port)
	givePort(s.tlsPort)
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
	if s.process, err = startProcess(s.dir, log, s.path, args...); err != nil {
		return err
	}
	return s.awaitReady(s.process)
}

func (s *Server) config() []byte {
	lines := map[string]string{
		"bind":                     host,
		"port":                     strconv.Itoa(s.port),
		"dir":                      s.dir,
		"save":                     `""`,
		"appendonly":               "no",
		"repl-diskless-sync-delay": "0",
	}
	if major(s.version) >= 7 {
		lines["enable-debug-command"] = "local"
	}
	if s.keys != nil {
		lines["tls-port"] = strconv.Itoa(s.tlsPort)
		lines["tls-ca-cert-file"] = caFile
		lines["tls-cert-file"] = certFile
		lines["tls-key-file"] = keyFile
	}
	maps.Copy(lines, s.opts.Config)
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(&text, name, lines[name])
	}
	return text.Bytes()
}

// awaitReady waits until the process answers on its port: this process, not another one that has
// taken the port meanwhile.
func (s *Server) awaitReady(p *process) error {
	var last error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		info, err := s.Info("")
		switch {
		case err != nil:
			last = err
		case info["process_id"] != strconv.Itoa(p.pid()):
			last = errPortTaken
		case info["loading"] == "0" || s.sentinel:
			return nil
		}
		select {
		case <-p.done:
			return s.diedEarly()
		case <-time.After(2 * time.Millisecond):
		}
	}
	s.stop()
	return fmt.Errorf("no answer within %v: %w\n%s", startTimeout, last, s.Log())
}

func (s *Server) diedEarly() error {
	s.process = nil
	log := s.Log()
	if strings.Contains(log, "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("%w: it ended at once:\n%s", ErrNotRunning, log)
}
