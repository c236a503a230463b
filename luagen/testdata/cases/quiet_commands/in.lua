--- Commands of a later server, and of a module.
---@key doc any
---@key lock hash
---@arg field string
---@since redis 8.0, valkey 9.1
redis.call('json.set', doc, '$', field)
redis.call('hgetdel', lock, 'fields', 1, field)
redis.call('ft.search', doc, field)
