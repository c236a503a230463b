package main

import (
	"crypto/tls"

	"github.com/redis/rueidis"

	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/primitives"
)

func rueidisOf(addrs ...string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs}) // or of a cluster
}

func rueidisBehindSentinel(master string, sentinels ...string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: sentinels,
		Sentinel:    rueidis.SentinelOption{MasterSet: master},
	})
}

func rueidisOverTLS(config *tls.Config, addrs ...string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, TLSConfig: config})
}

func onRueidis(conn rueidis.Client, opts *primitives.Options) (*primitives.Client, error) {
	return rueidisbackend.NewClient(conn, opts)
}
