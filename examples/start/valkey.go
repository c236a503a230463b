package main

import (
	"crypto/tls"

	"github.com/valkey-io/valkey-go"

	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/primitives"
)

func valkeyOf(addrs ...string) (valkey.Client, error) {
	return valkey.NewClient(valkey.ClientOption{InitAddress: addrs}) // or of a cluster
}

func valkeyBehindSentinel(master string, sentinels ...string) (valkey.Client, error) {
	return valkey.NewClient(valkey.ClientOption{
		InitAddress: sentinels,
		Sentinel:    valkey.SentinelOption{MasterSet: master},
	})
}

func valkeyOverTLS(config *tls.Config, addrs ...string) (valkey.Client, error) {
	return valkey.NewClient(valkey.ClientOption{InitAddress: addrs, TLSConfig: config})
}

func onValkey(conn valkey.Client, opts *primitives.Options) (*primitives.Client, error) {
	return valkeybackend.NewClient(conn, opts)
}
