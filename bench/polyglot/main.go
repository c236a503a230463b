// Command polyglot has one of the Go libraries whose locks are one format, a string key that SET NX PX makes, and holds
// its lock again and again, whenever the referee lets it. holder.py and holder.js do the same with the libraries of Python
// and Node. "make polyglot" runs all of them on one name, and docs/other-languages.md has what comes of it.
//
//	polyglot LIBRARY SERVER REFEREE DELAY
//
// SERVER is an address, REFEREE a socket, and DELAY the milliseconds between two tries; with 0 the library has its default.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	name   = "mutex:polyglot" // redis-semaphore adds the prefix itself
	expiry = 2 * time.Second
	loops  = 2 // of each process
	work   = time.Millisecond
	pause  = 5 * time.Millisecond // after a turn
)

// hold waits for the lock called name, works under it, and releases it. It returns an error if it did not hold the lock
// to the end, as far as the library learns of that.
type hold func(ctx context.Context, name string, work func()) error

// libraries open a client that waits so long between two tries; 0: the library's default.
var libraries = map[string]func(server string, delay time.Duration) (hold, error){
	"hasp on go-redis":  openGoRedis,
	"hasp on rueidis":   openRueidis,
	"hasp on valkey-go": openValkey,
	"redsync":           openRedsync,
	"redislock":         openRedislock,
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(library, server, referee, delay string) error {
	ms, err := strconv.Atoi(delay)
	if err != nil {
		return err
	}
	once, err := libraries[library](server, time.Duration(ms)*time.Millisecond)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range loops {
		conn, err := net.Dial("unix", referee)
		if err != nil {
			return err
		}
		fmt.Fprintln(conn, library, os.Getpid())
		all.Go(func() { turns(conn, once) })
	}
	all.Wait()
	return nil
}

// turns holds the lock until the referee ends it.
func turns(conn net.Conn, once hold) {
	replies := bufio.NewReader(conn)
	say := func(words ...string) bool {
		fmt.Fprintln(conn, strings.Join(words, " "))
		reply, err := replies.ReadString('\n')
		return err == nil && reply == "go\n"
	}
	for say("begin") {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // redislock would not wait beyond its expiry.
		err := once(ctx, name, func() {
			say("in")
			time.Sleep(work)
			say("out")
		})
		cancel()
		if err != nil {
			say("error", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		time.Sleep(pause)
	}
}
