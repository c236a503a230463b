package main

import (
	"crypto/tls"

	"github.com/redis/go-redis/v9"
)

func oneServer(addr string) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: addr})
}

func behindSentinel(master string, sentinels ...string) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: sentinels})
}

func ofCluster(addrs ...string) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs}) // some nodes suffice
}

func overTLS(addr string, config *tls.Config) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: addr, TLSConfig: config})
}
