---@include ../x.lua
---@key k string
redis.call('set', k, twice(1))
