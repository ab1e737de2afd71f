import { describe, expect, it } from '@jest/globals';
import { declaredNear } from './declared-near.js';

const topic = (id: string, name: string, ...aliases: string[]) => ({
  id,
  name,
  aliases,
  succession: 'stated' as const,
});
const topics = [
  topic('travel-policy', 'Travel policy', 'business trips'),
  topic('data-retention', 'Data retention'),
  topic('café', 'Café'),
  topic('policy', 'Policy'),
];

describe('QO-25: declared topics near a question', () => {
  it('are those of which every word of a name or an alias is asked for, longer names first', () => {
    expect(declaredNear(topics, 'Which travel policies apply to me?').whole).toEqual([
      'travel-policy',
      'policy',
    ]);
    expect(declaredNear(topics, 'who pays for a business trip?').whole).toEqual(['travel-policy']);
    expect(declaredNear(topics, 'is the CAFE\u0301 open?').whole).toEqual(['café']);
  });

  it('then those of which half of the words are', () => {
    expect(declaredNear(topics, 'how long is our data kept?')).toEqual({
      whole: [],
      half: ['data-retention'],
    });
    expect(declaredNear(topics, 'the travel of light')).toEqual({
      whole: [],
      half: ['travel-policy'],
    });
  });

  it('none for words that no name has, and for no words', () => {
    for (const question of ['lunch', '?', 'what is the', ''])
      expect(declaredNear(topics, question)).toEqual({ whole: [], half: [] });
    expect(declaredNear([], 'travel')).toEqual({ whole: [], half: [] });
  });
});
