package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/cmd/hasp/internal/page"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) serve() *cobra.Command {
	listen, tokenFile, public, plain, o := "", "", "", false, page.Options{}
	c := &cobra.Command{Use: "serve [NAME...]", Short: "Serve a page that shows objects live: those of these names, or all"}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8377", "address and port; other than of this machine alone it needs --token-file")
	c.Flags().StringVar(&tokenFile, "token-file", "", "a file with a secret of 16 characters at least, for which the page asks")
	c.Flags().IntVar(&o.Reads, "reads", 20, "how many reads a second at most: of a name, or of 500 keys for the list; each watched object adds one")
	c.Flags().BoolVar(&o.AllowRelease, "allow-release", false, "add a button that frees a lock; needs --token-file")
	addPlain(c, &plain)
	c.Flags().StringVar(&public, "public-url", "", "the page's address behind a proxy, such as https://ops.example.com/locks")
	var address *net.TCPAddr
	c.Args = func(c *cobra.Command, names []string) (err error) {
		if address, err = addressOf(listen, tokenFile, &o); err != nil {
			return err
		}
		if o.Public, err = publicURL(public); err != nil {
			return usage("--public-url %s: %w", public, err)
		}
		o.Names, o.Log = names, log.New(c.ErrOrStderr(), "hasp: ", log.LstdFlags|log.LUTC|log.Lmsgprefix)
		return validNames(names...)
	}
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, _ []string) error {
		return serve(c, address, sourceOf(conn.Client, plain), o)
	})
	return c
}

// addressOf returns the address to listen at, and reads the token.
func addressOf(listen, tokenFile string, o *page.Options) (*net.TCPAddr, error) {
	host, _, err := net.SplitHostPort(listen)
	address, failed := net.ResolveTCPAddr("tcp", listen)
	if err = cmp.Or(err, failed); err != nil {
		return nil, usage("--listen %s: %w", listen, err)
	}
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, usage("--token-file: %w", err)
		}
		o.Token = strings.TrimSpace(string(text))
		if len(o.Token) < 16 {
			return nil, usage("--token-file: the token has fewer than 16 characters")
		}
	}
	switch {
	case o.Reads < 1 || o.Reads > 1000:
		return nil, usage("--reads %d is not between 1 and 1000", o.Reads)
	case o.Token == "" && !address.IP.IsLoopback():
		return nil, usage("--listen %s is for other machines, too: that needs --token-file", listen)
	case o.Token == "" && o.AllowRelease:
		return nil, usage("all users of this machine can press what --allow-release adds: that needs --token-file")
	}
	o.Host = host
	return address, nil
}

// publicURL parses the address of the page behind a proxy: an origin as browsers write it, and a path.
func publicURL(text string) (url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || text == "":
		return url.URL{}, err
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", strings.ContainsAny(u.Path, "{}"):
		return url.URL{}, errors.New("not as in https://ops.example.com/locks")
	}
	usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	path := strings.TrimRight(u.Path, "/")
	return url.URL{Scheme: u.Scheme, Host: strings.ToLower(strings.TrimSuffix(u.Host, usual)), Path: path}, nil
}

func serve(c *cobra.Command, address *net.TCPAddr, source page.Source, o page.Options) error {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "http://%s/\n", listener.Addr())
	server := &http.Server{Handler: page.New(ctx, source, o), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
	defer cancel()
	_ = server.Shutdown(ctx) // What has not ended then ends with the process.
	return nil
}

func sourceOf(client *primitives.Client, plain bool) page.Source {
	return page.Source{
		List: func(ctx context.Context, text string, turn func(context.Context) error) iter.Seq2[inspect.Object, error] {
			return inspect.List(ctx, client, "*"+text+"*", &inspect.ListOptions{Plain: plain, Turn: turn})
		},
		Describe: func(ctx context.Context, name string) ([]inspect.Object, error) {
			return inspect.Describe(ctx, client, name)
		},
		Watch: func(ctx context.Context, name string) iter.Seq2[inspect.Event, error] {
			return inspect.Watch(ctx, client, name)
		},
		Release: func(ctx context.Context, kind, name, owner string) (bool, error) {
			of := lockers[kind]
			if of == nil || owner == "" {
				return false, nil
			}
			return of(client, name).ReleaseOwner(ctx, owner)
		},
		Healthy: client.Healthy,
	}
}
