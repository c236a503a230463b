local text = cjson.encode(redis.call('SMEMBERS', KEYS[1]))
return (string.gsub(text, '^{}$', '[]'))
