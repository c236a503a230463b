package forms

import "errors"

const duration = "rpc.server.call.duration"

var metrics = []string{"grpc.server.call.started", "grpc.server.call.duration", "grpc.client.call.duration", "server.call", "redis.call"}

var description = "The duration of a server.call, in seconds."

var errName = errors.New("redis.call() takes a name")

func hint(script string) error { return errors.New("write redis.call('get', KEYS[1]) in " + script) }

func failed() error { return errors.New("this failed:\n" + passed) }

const resty = `local redis = require "resty.redis"
return redis.call(redis:new())`

const help = `Call redis.call('get', KEYS[1]).
It returns the value.` // named one line above
