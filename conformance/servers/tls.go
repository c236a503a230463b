package servers

import (
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

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

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
