for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    return redis.error_reply('GONE an account is deleted')
  end
end
return redis.call('INCRBY', KEYS[1], #KEYS - 1)
