package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// The files of a server's certificates, in its folder. The key is that of the certificate.
const (
	caFile   = "ca.crt"
	certFile = "tls.crt"
	keyFile  = "tls.key"
)

// credentials are a certificate for loopback, signed by an authority that exists for it alone.
type credentials struct {
	config       *tls.Config
	ca, cert     []byte // DER
	certKeyBytes []byte // PKCS #8
}

// newCredentials makes credentials that are valid for a day.
func newCredentials() (*credentials, error) {
	caKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	authority := template("hasp test authority")
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	leaf := template("hasp test")
	leaf.IPAddresses = []net.IP{net.ParseIP(loopback.Host)}
	// One certificate serves both ends: servers ask their clients for one, too.
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	ca, err1 := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	cert, err2 := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, caKey)
	certKey, err3 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	config, err := tlsConfig(ca, cert, key)
	return &credentials{config: config, ca: ca, cert: cert, certKeyBytes: certKey}, err
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

// tlsConfig returns what both a client and a server, such as a proxy, can use.
func tlsConfig(ca, cert []byte, key *ecdsa.PrivateKey) (*tls.Config, error) {
	authority, err := x509.ParseCertificate(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}},
		RootCAs:      pool,
		ServerName:   loopback.Host,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	}, nil
}

// write writes the files into dir.
func (c *credentials) write(dir string) error {
	var err error
	for name, block := range map[string]*pem.Block{
		caFile:   {Type: "CERTIFICATE", Bytes: c.ca},
		certFile: {Type: "CERTIFICATE", Bytes: c.cert},
		keyFile:  {Type: "PRIVATE KEY", Bytes: c.certKeyBytes},
	} {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return err
}
