package servers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// Open makes a backend over a client of its own for the server at addr. It fills all of the instance but Link.
type Open func(ctx context.Context, addr string) (*harness.Instance, error)

// Harness starts a server of that kind, for the test alone, and returns what the suite needs to judge
// the backends that open makes: everything that one server can show. Each is behind a proxy of its own, at the address
// that open gets. The caller sets what its backends can do beyond pub/sub, such as Batches.
func Harness(tb TB, kind Kind, open Open) *harness.Harness {
	tb.Helper()
	server := Start(tb, kind, nil)
	h := &harness.Harness{
		New: func(ctx context.Context) (*harness.Instance, error) {
			return Behind(nil, func(p *proxy.Proxy) (*harness.Instance, error) {
				if err := p.Lead(server.Addr()); err != nil {
					return nil, err
				}
				return open(ctx, p.Addr())
			})
		},
		Do:           func(_ context.Context, _ string, args ...string) (backend.Reply, error) { return server.Do(args...) },
		Capabilities: backend.Capabilities{PubSub: true},
		ListsClients: true,
		Faults:       true,
		Restart:      func(_ context.Context, keep bool) error { return server.Restart(Data(keep)) },
	}
	if pauseSignal != nil {
		h.Pause = func(context.Context, string) (resume func() error, err error) {
			return server.Resume, server.Pause()
		}
	}
	return h
}

// InProcess returns what the suite needs to judge the backends that open makes for a server within the process, such
// as the server of package backend/embedded. Start makes a server; in a bubble its time is virtual.
func InProcess[S interface {
	Do(args ...string) (backend.Reply, error)
	Advance(d time.Duration)
}](start func() S, open func(server S) (backend.Backend, error)) *harness.Harness {
	server := start()
	return &harness.Harness{
		New: func(context.Context) (*harness.Instance, error) {
			b, err := open(server)
			return &harness.Instance{Backend: b}, err
		},
		Do:           func(_ context.Context, _ string, args ...string) (backend.Reply, error) { return server.Do(args...) },
		Capabilities: backend.Capabilities{PubSub: true},
		Batches:      true, WaitsForReplicas: true, Scans: true, NoClient: true,
		Advance: server.Advance,
		Bubble:  func() *harness.Harness { return InProcess(start, open) },
	}
}

// Skips returns why cases are not run with h, which [Harness] returned and the caller has completed:
// what one server cannot show, what the backends do not declare, and what -short leaves out. A test that
// expects the reasons of its report to be among these loses no case for another reason.
func Skips(h *harness.Harness) []string {
	reasons := []string{
		harness.Sharded.Reason, harness.Cluster.Reason, harness.Migrate.Reason, harness.FailOver.Reason,
		harness.Isolate.Reason, harness.Advance.Reason, harness.SkipRandom, harness.SkipShared,
		harness.SkipNoMessages,
	}
	for _, need := range []harness.Need{
		harness.PubSub, harness.NoPubSub, harness.Batches, harness.ReplicaWaiter, harness.Scans, harness.HasClient, harness.Pause,
	} {
		reasons = append(reasons, need.Lacks(h)) // "": nothing is missing
	}
	return reasons
}

// Behind has open make an instance that connects through a proxy of its own, where the suite makes the faults of a
// network: to an address that leads to the server ([proxy.Proxy.Lead]), or in a cluster by [proxy.Proxy.DialContext].
// config is as in [proxy.New].
func Behind(config *tls.Config, open func(p *proxy.Proxy) (*harness.Instance, error)) (*harness.Instance, error) {
	p := proxy.New(config)
	in, err := open(p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	closeClient := in.Close
	in.Link, in.Close = p, func() {
		if closeClient != nil {
			closeClient()
		}
		_ = p.Close()
	}
	return in, nil
}

// The files of a server's certificate, which is its own authority, and of its key, in the server's folder.
const (
	certFile = "tls.crt"
	keyFile  = "tls.key"
)

// newCertificate writes a certificate for loopback into dir, and returns what clients, servers and
// proxies need to use it. It is valid for a day.
func newCertificate(dir string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.ParseIP(loopback.Host)},
		// One certificate serves both ends: servers ask their clients for one, too.
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	cert, err1 := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	err3 := writePEM(filepath.Join(dir, certFile), "CERTIFICATE", cert)
	err4 := writePEM(filepath.Join(dir, keyFile), "PRIVATE KEY", private)
	parsed, err5 := x509.ParseCertificate(cert)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}},
		RootCAs:      pool,
		ServerName:   loopback.Host,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	}, nil
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
