// Package connect opens the connection that the flags of a command name. No password is in a flag, and none in an error.
package connect

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/redis/rueidis"

	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/primitives"
)

// URLVariable is the environment variable of the server's URL, if no flag has it.
const URLVariable = "HASP_URL"

// Flags say which server, and as which user.
type Flags struct {
	URL, User, PasswordFile, CACert, Cert, Key string
}

// Conn is an open connection.
type Conn struct {
	Redis rueidis.Client
	*primitives.Client
	Options rueidis.ClientOption
}

// UsageError is the error of a flag or variable: nothing was connected.
type UsageError struct{ error }

// Open connects. The error is a [*UsageError], or that of the connection.
func (f *Flags) Open(opts *primitives.Options) (*Conn, error) {
	o, err := f.options()
	if err != nil {
		return nil, &UsageError{err}
	}
	conn, err := rueidis.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", strings.Join(o.InitAddress, ", "), kindOf(err), err)
	}
	b, err := rueidisbackend.New(conn, nil)
	var client *primitives.Client
	if err == nil {
		client, err = primitives.New(b, opts)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Conn{conn, client, o}, nil
}

// Node connects to one node alone, as the same user or as the user of Sentinel. Each step takes timeout at most.
func (c *Conn) Node(addr string, sentinel bool, timeout time.Duration) (rueidis.Client, error) {
	o := c.Options
	o.InitAddress, o.ForceSingleClient, o.DisableRetry = []string{addr}, true, true
	o.Dialer.Timeout, o.ConnWriteTimeout = timeout, timeout
	if sentinel {
		o.TLSConfig, o.Username, o.Password, o.SelectDB = o.Sentinel.TLSConfig, o.Sentinel.Username, o.Sentinel.Password, 0
	}
	o.Sentinel.MasterSet = ""
	return rueidis.NewClient(o)
}

// kindOf returns which error of ours the error of a new connection is.
func kindOf(err error) error {
	var server *rueidis.RedisError
	if !errors.As(err, &server) {
		return primitives.ErrUnavailable
	}
	switch code, _, _ := strings.Cut(server.Error(), " "); code {
	case "WRONGPASS", "NOAUTH", "NOPERM":
		return primitives.ErrNoPermission
	}
	return primitives.ErrUnavailable
}

func (f *Flags) options() (o rueidis.ClientOption, err error) {
	u, err := f.url()
	if err != nil {
		return o, err
	}
	if o, err = rueidis.ParseURL(u.String()); err != nil {
		return o, malformed(u.String(), err)
	}
	o.DisableCache = true
	o.Sentinel.Username, o.Sentinel.Password = u.Query().Get("sentinel_user"), u.Query().Get("sentinel_password")
	o.Sentinel.TLSConfig = o.TLSConfig
	if o.TLSConfig != nil && (len(o.InitAddress) > 1 || o.Sentinel.MasterSet != "") { // Else the driver expects the first host's.
		o.TLSConfig.ServerName = "" // that of the host that is dialled
	}
	if err = f.authenticate(&o); err == nil {
		err = f.encrypt(&o)
	}
	return o, err
}

// form takes a URL apart: its scheme, its user, its first host, the others, and the rest.
var form = regexp.MustCompile(`^(\w+)://([^/?#]*@)?([^/?#,]*)([^/?#]*)(.*)$`)

// url returns the URL of the flag or the variable as the driver has it: of several hosts the others, and the name of
// Sentinel's master, are parameters there. Others may read a flag, so it has no password.
func (f *Flags) url() (*url.URL, error) {
	text := cmp.Or(f.URL, os.Getenv(URLVariable), "redis://127.0.0.1:6379")
	parts := form.FindStringSubmatch(text)
	switch {
	case parts == nil:
		return nil, errors.New("the URL is malformed: it begins with no redis://, rediss:// or unix://")
	case f.URL != "" && (strings.Contains(parts[2], ":") || strings.Contains(text, "sentinel_password=")):
		return nil, fmt.Errorf("--url has a password, which all users of this machine could read: use %s or --password-file", URLVariable)
	}
	u, err := url.Parse(parts[1] + "://" + parts[2] + parts[3] + parts[5])
	if err != nil {
		return nil, malformed(text, err)
	}
	query := u.Query()
	for host := range strings.SplitSeq(parts[4], ",") {
		if host != "" {
			query.Add("addr", host)
		}
	}
	if master := query.Get("sentinel_master"); master != "" {
		query.Set("master_set", master)
		query.Del("sentinel_master")
	}
	u.RawQuery = query.Encode()
	return u, nil
}

func (f *Flags) authenticate(o *rueidis.ClientOption) error {
	o.Username = cmp.Or(f.User, o.Username)
	if f.PasswordFile == "" {
		return nil
	}
	text, err := os.ReadFile(f.PasswordFile)
	o.Password = strings.TrimRight(string(text), "\r\n")
	return err
}

// encrypt sets the certificates. They are only for URLs that begin with rediss.
func (f *Flags) encrypt(o *rueidis.ClientOption) error {
	if f.CACert == "" && f.Cert == "" && f.Key == "" {
		return nil
	}
	if o.TLSConfig == nil {
		return errors.New("--cacert, --cert and --key need a URL that begins with rediss://")
	}
	if f.CACert != "" {
		text, err := os.ReadFile(f.CACert)
		if err != nil {
			return err
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s has no certificate", f.CACert)
		}
	}
	switch {
	case f.Cert == "" && f.Key == "":
		return nil
	case f.Cert == "" || f.Key == "":
		return errors.New("--cert and --key need each other")
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	o.TLSConfig.Certificates = []tls.Certificate{pair}
	return err
}

// malformed returns the error of a URL, without any part of it that may be a password.
func malformed(text string, err error) error {
	var of *url.Error
	switch {
	case strings.Contains(text, "@"):
		err = errors.New("in a user and a password write special characters as in %2F for /")
	case errors.As(err, &of):
		err = of.Err
	}
	return fmt.Errorf("the URL is malformed: %w", err)
}
